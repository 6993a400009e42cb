"""The generated tasks, and a real run over them: two replayed attempts each, the first one right."""

from __future__ import annotations

import asyncio
import runpy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rubricgrade.episode.agents.choosing import choose_agent
from rubricgrade.episode.task import Task
from rubricgrade.runs.running import Plan, run

TOP = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class World:
    tasks: list[Task]
    families: dict[str, str]
    folder: Path


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("delivery") / "tasks"
    make = runpy.run_path(str(TOP / "examples/delivery/make_tasks.py"))["make"]
    families: dict[str, str] = make(folder)
    return World([Task.load(folder / name) for name in families], families, folder)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def played(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "first"

    async def play() -> int:
        plan = Plan(tuple(world.tasks), choose_agent("replay"), folder, samples=2)
        return len([outcome async for outcome in run(plan)])

    assert asyncio.run(play()) == 24
    return folder
