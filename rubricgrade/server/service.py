"""What a running server has, opened once for all requests: rubrics, judges, the desk, and what is counted."""

from __future__ import annotations

import asyncio
import functools
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from rubricgrade import tree
from rubricgrade.grading import agrade
from rubricgrade.grading.asked import check_judge
from rubricgrade.grading.judges import Judges
from rubricgrade.grading.template import given_template
from rubricgrade.result import Grade
from rubricgrade.rewards.keeping import keep
from rubricgrade.sandbox import Provider, Template, default_provider
from rubricgrade.server.alarm import Alarm
from rubricgrade.server.desk import Desk, Episode
from rubricgrade.server.metrics import Metrics
from rubricgrade.server.readers import Readers
from rubricgrade.server.room import Room
from rubricgrade.server.scratch import Scratch
from rubricgrade.server.settings import Settings
from rubricgrade.server.shelf import Shelf


class Service:
    """See the module's text; made by `opened`.

    Attributes:
        settings: As given.
        shelf: Its rubrics.
        desk: Grades.
        readers: Read requests.
        room: For requests.
        alarm: Whether too much is ungraded.
        metrics: What is counted.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        shelf: Shelf,
        judges: Judges,
        provider: Provider,
        template: Template | None,
        root: Path,
    ) -> None:
        limits = settings.limits
        self.settings = settings
        self.shelf = shelf
        self.room = Room(limits.held)
        self.readers = Readers()
        self.alarm = Alarm(limits.alarm_above, limits.alarm_window)
        self.desk = Desk(self._graded, concurrency=limits.concurrency, queue=limits.queue, ended=self._ended)
        self.metrics = Metrics(
            reading=lambda: self.desk.reading,
            waiting=lambda: self.desk.waiting,
            in_flight=lambda: self.desk.in_flight,
            held=lambda: self.room.held,
            share=lambda: self.alarm.share,
            alarm=lambda: self.alarm.on,
        )
        self._judges = judges
        self._provider = provider
        self._template = template
        self._root = root
        self._removing: set[asyncio.Future[None]] = set()

    def scratch(self) -> Scratch:
        """What one request holds."""
        return Scratch(self.room.share(), self._root, self._removing)

    async def closed(self) -> None:
        """Wait until nobody works any more, and nothing is being removed."""
        await asyncio.gather(self.desk.closed(), self.readers.closed())
        await asyncio.gather(*self._removing)

    def unread(self, name: str, cause: str) -> None:
        """Take note of a host's episode that ended before there was anything to grade."""
        self.metrics.unread(name, cause)
        self.alarm.take(ungraded=True)

    async def _graded(self, episode: Episode) -> Grade:
        grade = await agrade(
            episode.trajectory,
            episode.rubric,
            judge=self._judges,
            provider=self._provider,
            template=self._template,
            ungated=episode.ungated,
        )
        # They would be written down by a program that grades a set; a server would only fill its memory with them.
        self._judges.unanswered.clear()
        if (output := self.settings.output) is not None:
            await asyncio.to_thread(keep, grade, episode.trajectory, output / episode.trajectory.id)
        return grade

    def _ended(self, episode: Episode, grade: Grade, seconds: float) -> None:
        self.metrics.graded(episode.name, grade, seconds)
        self.alarm.take(ungraded=grade.status == "ungraded")


@asynccontextmanager
async def opened(settings: Settings) -> AsyncGenerator[Service]:
    """A service for as long as the block runs.

    Raises:
        InputError: A rubric, the judge or the template can't be used.
        SandboxError: The template has to be built, and can't be.
    """
    shelf = Shelf(settings.rubrics, inline=settings.inline, judge=settings.judge.model is not None)
    check_judge(settings.judge, None if settings.inline else shelf.known, varying=True)
    provider = default_provider()
    root = Path(await asyncio.to_thread(functools.partial(tempfile.mkdtemp, prefix="rubricgrade-serve-")))
    try:
        async with Judges.of(settings.judge) as judges, given_template(settings.template, provider) as template:
            service = Service(settings, shelf=shelf, judges=judges, provider=provider, template=template, root=root)
            try:
                yield service
            finally:
                await service.closed()
    finally:
        await asyncio.to_thread(tree.remove, root)
