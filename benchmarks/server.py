"""How fast grading through the reward server is, beside `agrade_all` of the library in the same run.

    JUDGE_BENCH=FOLDER python benchmarks/server.py [--rounds 3] [--n 256] [--latency 0.3] [--concurrency 256]

FOLDER is a bench with `src/` (mock judge, workload), as for `benchmarks/judge.py`; without it there is nothing to do
and this says so. Each round grades the same episodes by the library and through a server, each in fresh processes and
with no verdict cached; walls are compared within the round. The server then goes on for more rounds, for its memory.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from judge import serving

from rubricgrade import JudgeOptions, RewardClient, agrade_all, load_rubric
from rubricgrade.collecting import collect_seldom
from rubricgrade.readers import load_trajectories, write_trajectory

sys.path.insert(0, str(Path(__file__).parent / "adapters"))
import ours

WALL_GOAL, MEMORY_GOAL = 1.25, 1.3
MORE_ROUNDS = 4
MODEL = "openai/gpt-4o-mini"


def prepare(bench: Path, n: int, folder: Path) -> None:
    """Write the rubric and the episodes that both sides grade."""
    sys.path.insert(0, str(bench / "src"))
    import workload  # noqa: PLC0415 - the bench is found at run time

    (folder / "rubric.yaml").write_text(ours._rubric(workload.CRITERIA))  # noqa: SLF001 - the neighbour's, for one bench
    (folder / "episodes").mkdir()
    for number in range(n):
        trajectory = ours._trajectory(workload.trajectory(number))  # noqa: SLF001 - the neighbour's, for one bench
        write_trajectory(trajectory, folder / "episodes" / f"{number}.json")


def load(folder: Path) -> list[Any]:
    """The episodes, in the order of their numbers."""
    files = sorted((folder / "episodes").iterdir(), key=lambda file: int(file.stem))
    return [episode for file in files for episode in load_trajectories(file)]


async def by_library(folder: Path, base: str, concurrency: int) -> dict[str, Any]:
    """Grade all by the library."""
    judge = JudgeOptions(model=MODEL, api_base=base, api_key="sk", concurrency=concurrency, cache=False)
    episodes, rubric = load(folder), load_rubric(folder / "rubric.yaml")
    collect_seldom()  # as the server does
    began = time.perf_counter()
    grades = await agrade_all(episodes, rubric, judge=judge, concurrency=concurrency)
    return {"wall": time.perf_counter() - began, "grades": [grade.canonical().decode() for grade in grades]}


async def by_server(folder: Path, url: str, concurrency: int) -> dict[str, Any]:
    """Grade all through a server."""
    client = RewardClient(url, concurrency=concurrency)
    episodes = load(folder)
    collect_seldom()
    began = time.perf_counter()
    grades = await client.agrade_all(episodes, "bench")
    return {"wall": time.perf_counter() - began, "grades": [grade.canonical().decode() for grade in grades]}


def apart(*arguments: str) -> dict[str, Any]:
    """One measurement in a process of its own."""
    done = subprocess.run([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


@contextmanager
def server(folder: Path, base: str, concurrency: int) -> Iterator[tuple[str, int]]:
    """A reward server with these limits: its URL and its process."""
    command = [
        Path(sys.executable).with_name("rubricgrade"), "serve", "--port", "0", "--no-cache",
        "--rubric", f"bench={folder / 'rubric.yaml'}", "--judge", MODEL, "--judge-api-base", base,
        "--concurrency", str(concurrency),
    ]  # fmt: skip
    environment = {**os.environ, "OPENAI_API_KEY": "sk"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        found = re.search(r"http://\S+", process.stderr.readline())
        assert found is not None
        try:
            yield found[0], process.pid
        finally:
            process.terminate()


def megabytes(pid: int) -> float:
    """The most memory that a process has had."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]  # it is always there


def measure(arguments: argparse.Namespace, folder: Path) -> tuple[list[dict[str, float]], float]:
    """The rounds, and how much the memory of a server grows when it goes on."""
    base, limit = f"http://127.0.0.1:{arguments.port}/v1", str(arguments.concurrency)
    rounds: list[dict[str, float]] = []
    growth = 0.0
    for number in range(arguments.rounds):
        library = apart("--work", "library", str(folder), base, limit)
        with server(folder, base, arguments.concurrency) as (url, pid):
            far = apart("--work", "server", str(folder), url, limit)
            memory = megabytes(pid)
            if number == arguments.rounds - 1:
                for _ in range(MORE_ROUNDS):
                    apart("--work", "server", str(folder), url, limit)
                growth = megabytes(pid) / memory
        same = sum(one == other for one, other in zip(library["grades"], far["grades"], strict=True))
        rounds.append({"library": library["wall"], "server": far["wall"], "same": same, "memory": memory})
    return rounds, growth


def main() -> int:
    """Measure, print the table, and say which goals were missed (exit code 1)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--n", type=int, default=256, help="episodes, of ten criteria each")
    parser.add_argument("--latency", type=float, default=0.3)
    parser.add_argument("--concurrency", type=int, default=256)
    parser.add_argument("--port", type=int, default=18095)
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        way, folder, where, limit = arguments.work
        work = by_library if way == "library" else by_server
        print(json.dumps(asyncio.run(work(Path(folder), where, int(limit)))))
        return 0
    bench = Path(os.environ.get("JUDGE_BENCH", ""))
    if not os.environ.get("JUDGE_BENCH") or not (bench / "src/mockserver.py").is_file():
        print("skipped: JUDGE_BENCH names no bench (a folder with src/mockserver.py)")
        return 0
    with tempfile.TemporaryDirectory() as place, serving(bench, arguments.port):
        folder = Path(place)
        prepare(bench, arguments.n, folder)
        rounds, growth = measure(arguments, folder)
    print("| round | library s | server s | ratio | same grades | server MB |\n|---|---|---|---|---|---|")
    for number, each in enumerate(rounds, 1):
        ratio = each["server"] / each["library"]
        cells = f"{each['library']:.2f} | {each['server']:.2f} | {ratio:.2f} | {each['same']:.0f} of {arguments.n}"
        print(f"| {number} | {cells} | {each['memory']:.0f} |")
    ratio = statistics.median(each["server"] / each["library"] for each in rounds)
    print(f"\nmedian ratio {ratio:.2f}; memory after {MORE_ROUNDS} more rounds: {growth:.2f} times")
    goals = [f"wall {ratio:.2f} times the library's, goal {WALL_GOAL}"] if ratio > WALL_GOAL else []
    goals += [f"memory grows to {growth:.2f} times, goal {MEMORY_GOAL}"] if growth > MEMORY_GOAL else []
    goals += ["grades differ or are missing"] if any(each["same"] != arguments.n for each in rounds) else []
    print("\n".join(f"missed: {goal}" for goal in goals) or "every goal reached")
    return 1 if goals else 0


if __name__ == "__main__":
    sys.exit(main())
