"""How many trajectories are in work at a time, and in which order they begin."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rubricgrade import Grade, Trajectory, agrade_all, grade, load_trajectory
from tests.grading.episodes import episode, rubric

COUNT = 150
CRITERION = {"id": "c", "points": 1, "description": "d", "judge": {}}


class Stub:
    """Somebody who grades elsewhere, in a way of the test's."""

    def __init__(self, work: Callable[[int], Awaitable[None]], made: Grade) -> None:
        self.work = work
        self.made = made

    @asynccontextmanager
    async def grading(self, *_: Any, **__: Any) -> AsyncGenerator[Any]:
        async def one(trajectory: Trajectory, _: Any) -> Grade:
            await self.work(int(trajectory.id))
            return self.made

        yield one


def grade_many(tmp_path: Path, work: Callable[[int], Awaitable[None]], concurrency: int) -> list[Grade]:
    path = rubric(tmp_path / "r", {"criteria": [CRITERION]})
    first = load_trajectory(episode(tmp_path / "e"))
    made = grade(first, path)
    trajectories = [first.model_copy(update={"id": str(number)}) for number in range(COUNT)]
    return asyncio.run(
        agrade_all(trajectories, path, concurrency=concurrency, executor=Stub(work, made), on_grade=lambda *_: None)
    )


@pytest.mark.parametrize("concurrency", [1, 8, 32, 33, 100, COUNT, 10 * COUNT])
def test_as_many_are_in_work_as_may_be_and_never_more(tmp_path: Path, concurrency: int) -> None:
    working = peak = 0
    full = asyncio.Event()

    async def work(_: int) -> None:
        nonlocal working, peak
        working += 1
        peak = max(peak, working)
        if working == min(concurrency, COUNT):
            full.set()
        await asyncio.wait_for(full.wait(), 60)
        await asyncio.sleep(0)
        working -= 1

    assert len(grade_many(tmp_path, work, concurrency)) == COUNT
    assert peak == min(concurrency, COUNT)


def test_the_first_are_asked_about_before_the_last_begin(tmp_path: Path) -> None:
    asked: list[int] = []
    asked_before: dict[int, int] = {}

    async def work(number: int) -> None:
        asked_before[number] = len(asked)
        for _ in range(15):
            await asyncio.sleep(0)
        asked.append(number)
        await asyncio.sleep(0.05)

    grade_many(tmp_path, work, COUNT)
    assert asked_before[0] == 0
    assert asked_before[COUNT - 1] >= 32


def test_an_error_ends_it(tmp_path: Path) -> None:
    async def work(number: int) -> None:
        if number == 40:
            raise ZeroDivisionError
        await asyncio.sleep(60)

    with pytest.raises(ZeroDivisionError):
        grade_many(tmp_path, work, COUNT)
