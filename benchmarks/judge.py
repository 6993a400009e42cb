"""How fast judging is, beside the bare HTTP client in the same run: 2,000 decisions, a 300 ms judge, 256 in flight.

    JUDGE_BENCH=FOLDER python benchmarks/judge.py [--rounds 3] [--n 200] [--latency 0.3] [--concurrency 256]

FOLDER is a bench with `src/` (server, workload, runner) and `adapters/raw_aiohttp.py`; without it there is nothing to
measure and this says so. Each round runs the adapters in turn, each in a process of its own. The least of all rounds is
compared: whatever else a machine does only adds to what a run takes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ADAPTERS = Path(__file__).parent / "adapters"
FAULTS = {"p429": 0.05, "p500": 0.02, "pmal": 0.02, "ptrunc": 0.01}
WALL_GOAL, CPU_GOAL, PREFIX_GOAL = 1.4, 3.5, 0.8
AGAIN_GOAL = 1 / 3
MEMORY_GOAL = 1.15
FLOOR = "bare aiohttp (the floor)"
GRADES = "grades: cache, quotes, files"
FAULTY, AGAIN, TENFOLD = "the same, under faults", "the same again, from the cache", "ten times as many"
LASTING = "the same, under faults that last"


@dataclass(frozen=True)
class Case:
    """One line of the table."""

    name: str
    adapter: str
    options: Mapping[str, Any] = field(default_factory=dict)
    faults: Mapping[str, Any] = field(default_factory=dict)


@contextmanager
def serving(bench: Path, port: int) -> Iterator[None]:
    """The bench's mock judge, for as long as the block lasts."""
    command = [sys.executable, str(bench / "src/mockserver.py"), "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        server.stdout.readline()
        try:
            yield
        finally:
            server.terminate()


def measure(bench: Path, case: Case, arguments: argparse.Namespace) -> dict[str, Any]:
    """Run one adapter once."""
    command = [
        sys.executable,
        str(bench / "src/bench.py"),
        *("--adapter", case.adapter, "--opts", json.dumps(case.options), "--faults", json.dumps(case.faults)),
        *("--port", str(arguments.port), "--conc", str(arguments.concurrency), "--n", str(arguments.n)),
        *("--latency", str(arguments.latency)),
    ]
    environment = {**os.environ, "BENCH_ADAPTERS": str(ADAPTERS), "PYTHONPATH": str(ADAPTERS.parents[1])}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def table(cases: list[Case], runs: Mapping[str, list[dict[str, Any]]]) -> Iterator[str]:
    """The lines of the table, as Markdown; ratios are to the first case of the same run."""
    yield "| | wall s | x floor | CPU s per 1000 | x floor | right | requests | peak in flight | prefix | RSS MB |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for case in cases:
        rows = runs[case.name]
        wall, cpu, rss = (least(rows, key) for key in ("wall", "cpu_per_1000", "rss_peak"))
        right = min(row["good"] for row in rows)
        server = rows[-1]["srv"]
        yield (
            f"| {case.name} | {wall:.2f} | {ratio(runs, case.name, 'wall'):.2f} | {cpu:.2f}"
            f" | {ratio(runs, case.name, 'cpu_per_1000'):.2f} | {right} of {rows[-1]['decisions']}"
            f" | {server['requests']} | {server['peak_inflight']} | {server.get('cache_real', 0):.2f} | {rss:.0f} |"
        )


def ratio(runs: Mapping[str, list[dict[str, Any]]], name: str, key: str) -> float:
    """A case's value over the floor's, of the least of all rounds."""
    return least(runs[name], key) / least(runs[FLOOR], key)


def missed(cases: list[Case], runs: Mapping[str, list[dict[str, Any]]], concurrency: int) -> Iterator[str]:
    """The goals that were not reached, in words."""
    if (wall := ratio(runs, GRADES, "wall")) > WALL_GOAL:
        yield f"wall {wall:.2f} times the floor, goal {WALL_GOAL}"
    if (cpu := ratio(runs, GRADES, "cpu_per_1000")) > CPU_GOAL:
        yield f"CPU {cpu:.2f} times the floor, goal {CPU_GOAL}"
    if (prefix := runs[GRADES][-1]["srv"]["cache_real"]) < PREFIX_GOAL:
        yield f"realised prefix share {prefix:.2f}, goal {PREFIX_GOAL}"
    for case in cases:
        for row in runs[case.name]:
            # What a fault that lasts has hit is open, which the adapter makes sure of; nothing may be wrong or missing.
            open_ones = row["raised"] if case.name == LASTING else 0
            if row["good"] + open_ones != row["decisions"]:
                yield f"{case.name}: {row['good']} of {row['decisions']} right"
            if row["srv"]["peak_inflight"] > concurrency:
                yield f"{case.name}: {row['srv']['peak_inflight']} in flight, limit {concurrency}"
    if not all(row["raised"] for row in runs[LASTING]):
        yield f"{LASTING}: nothing was hit"
    again = runs[AGAIN]
    if any(row["srv"]["requests"] for row in again):
        yield "a second run made requests"
    if (share := least(again, "cpu_per_1000") / least(runs[GRADES], "cpu_per_1000")) > AGAIN_GOAL:
        yield f"a second run took {share:.2f} of the CPU, goal {AGAIN_GOAL:.2f}"


def least(rows: list[dict[str, Any]], key: str) -> float:
    """The least of one figure over some runs."""
    return min(row[key] for row in rows)


def main() -> int:
    """Measure, print the table, and say which goals were missed (exit code 1)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--n", type=int, default=200, help="trajectories, of ten criteria each")
    parser.add_argument("--latency", type=float, default=0.3)
    parser.add_argument("--concurrency", type=int, default=256)
    parser.add_argument("--port", type=int, default=18090)
    arguments = parser.parse_args()
    bench = Path(os.environ.get("JUDGE_BENCH", ""))
    if not os.environ.get("JUDGE_BENCH") or not (bench / "src/bench.py").is_file():
        print("skipped: JUDGE_BENCH names no bench (a folder with src/bench.py)")
        return 0
    with tempfile.TemporaryDirectory() as folder, serving(bench, arguments.port):
        warm = {"cache": f"{folder}/again.sqlite"}
        cases = [
            Case(FLOOR, "raw_aiohttp"),
            Case("calls alone", "ours_chat"),
            Case(GRADES, "ours"),
            Case(FAULTY, "ours", faults=FAULTS),
            Case(AGAIN, "ours", warm),
        ]
        measure(bench, cases[-1], arguments)  # fills the cache
        runs: dict[str, list[dict[str, Any]]] = {case.name: [] for case in cases}
        for _ in range(arguments.rounds):
            for case in cases:
                runs[case.name].append(measure(bench, case, arguments))
        lasting = Case(LASTING, "ours", faults={**FAULTS, "sticky": True})
        runs[LASTING] = [measure(bench, lasting, arguments)]
        cases.append(lasting)
        tenfold = measure(bench, Case(TENFOLD, "ours", {"rounds": 10}), arguments)
    print("\n".join(table(cases, runs)))
    growth = tenfold["rss_peak"] / least(runs[GRADES], "rss_peak")
    print(f"\nmemory over {10 * tenfold['decisions']:,} decisions: {growth:.2f} times that of {tenfold['decisions']:,}")
    goals = list(missed(cases, runs, arguments.concurrency))
    goals += [f"memory grows to {growth:.2f} times, goal {MEMORY_GOAL}"] if growth > MEMORY_GOAL else []
    print("\n".join(["", *(f"missed: {goal}" for goal in goals)] if goals else ["", "every goal reached"]))
    return 1 if goals else 0


if __name__ == "__main__":
    sys.exit(main())
