"""What a Ray cluster adds: wall time of episodes that sleep for a second, here and on two nodes of this machine.

    pip install 'rubricgrade[ray]'; python benchmarks/executors.py [EPISODES] [AT_ONCE] [ROUNDS]

Prints one JSON object. The two are run in turn, and the quickest of each is compared. The cluster runs before; to
connect, to start an actor on each node and to end them is part of the time. Grades are compared byte for byte.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from rubricgrade.episode.agents.choosing import choose_agent
from rubricgrade.episode.task import Task
from rubricgrade.runs.executing import choose_executor
from rubricgrade.runs.running import Plan, run
from rubricgrade.runs.standing import attempts_of

TASK = {
    "task.toml": "",
    "instruction.md": "Write the answer into answer.txt.",
    "environment/Dockerfile": "FROM python:3.13-slim\nWORKDIR /work\n",
    "tests/rubric.yaml": "id: answer\ncriteria:\n"
    "  - {id: a, points: 1, description: it is 42, check: {matches: {path: answer.txt, pattern: ^42$}}}\n",
}
AGENT = "command:sleep 1; echo 42 > answer.txt; touch -d @0 answer.txt"


def make_task(folder: Path) -> Task:
    for name, text in TASK.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return Task.load(folder)


async def measure(task: Task, folder: Path, executor: str, episodes: int, at_once: int) -> float:
    started = time.monotonic()
    plan = Plan((task,), choose_agent(AGENT), folder, samples=episodes, concurrency=at_once)
    async for _ in run(plan, executor=choose_executor(executor)):
        pass
    return time.monotonic() - started


def grades(folder: Path) -> dict[int, bytes]:
    return {one.line.sample: one.grade.canonical() for one in attempts_of(folder) if one.grade is not None}


def main(episodes: int = 200, at_once: int = 4, rounds: int = 3) -> None:
    if find_spec("ray") is None:
        print(json.dumps({"skipped": "extra 'ray' is not installed"}))
        return
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - an extra

    small = {"num_cpus": 1, "object_store_memory": 128 << 20}
    cluster = Cluster(initialize_head=True, head_node_args={"include_dashboard": False, **small})
    cluster.add_node(**small)
    times: dict[str, list[float]] = {"local": [], f"ray:{cluster.address}": []}
    made: list[dict[int, bytes]] = []
    try:
        with tempfile.TemporaryDirectory() as place:
            task = make_task(Path(place) / "answer")
            asyncio.run(measure(task, Path(place) / "warm", "local", 1, 1))
            for number in range(rounds):
                for kind, (executor, found) in enumerate(times.items()):
                    folder = Path(place) / f"{number}-{kind}"
                    found.append(asyncio.run(measure(task, folder, executor, episodes, at_once)))
                    made.append(grades(folder))
    finally:
        cluster.shutdown()
    local, ray = map(min, times.values())
    print(
        json.dumps(
            {
                "episodes": episodes,
                "at_once": at_once,
                "local_seconds": [round(found, 2) for found in times["local"]],
                "ray_seconds": [round(found, 2) for found in list(times.values())[1]],
                "ray_adds": round(ray / local - 1, 4),
                "grades_equal": all(found == made[0] and len(found) == episodes for found in made),
            }
        )
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
