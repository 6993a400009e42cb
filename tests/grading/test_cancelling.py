"""Whoever is cancelled while it cleans up cleans up to the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.episode.task import Task
from rubricgrade.grading import agrade
from rubricgrade.redteam import red_team
from rubricgrade.sandbox import BubblewrapProvider, Template
from tests.cli.program import HAS_REPORT, write_episode, write_rubric
from tests.episode.making import write_task


class Counting(BubblewrapProvider):
    """Counts what is open, and tells when sandboxes begin to close, or when several are open."""

    def __init__(self) -> None:
        super().__init__()
        self.open_now = self.staged = 0
        self.closing = asyncio.Event()
        self.several = asyncio.Event()

    async def open(self, template: Template, *, label: str = "") -> Any:
        sandbox = await super().open(template, label=label)
        close = sandbox.close
        self.open_now += 1
        if self.open_now == 3:
            self.several.set()

        async def counted() -> None:
            self.closing.set()
            try:
                await asyncio.sleep(0)
            finally:
                self.open_now -= 1  # cancelled in the middle of it, `close` ends it all the same
                await close()

        sandbox.close = counted
        return sandbox

    @asynccontextmanager
    async def stage(self, source: Path, *, layer: bool = False) -> AsyncGenerator[Path]:
        self.staged += 1
        try:
            async with super().stage(source, layer=layer) as folder:
                yield folder
        finally:
            self.staged -= 1


async def cancelled(work: asyncio.Task[Any], when: asyncio.Event) -> None:
    await when.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work


def test_a_grade_that_is_cancelled_while_its_sandboxes_close(tmp_path: Path) -> None:
    rubric = write_rubric(tmp_path, gates=[HAS_REPORT])
    episode = write_episode(tmp_path / "episode", report__md="# Report")

    async def main() -> None:
        provider = Counting()
        work = asyncio.create_task(agrade(episode, rubric, provider=provider))
        await cancelled(work, provider.closing)
        assert (provider.open_now, provider.staged) == (0, 0)

    asyncio.run(main())


def test_attacks_that_are_cancelled_have_all_ended(tmp_path: Path) -> None:
    task = Task.load(write_task(tmp_path / "answer"))

    async def main() -> None:
        provider = Counting()
        work = asyncio.create_task(red_team(task, provider=provider, concurrency=4))
        await cancelled(work, provider.several)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert provider.open_now == 0

    asyncio.run(main())
