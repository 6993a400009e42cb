"""The desk: takes a bounded number of episodes, works on some of them at a time, and answers every one it has taken.

An answer comes by the deadline, whatever the work does: what is late is told to end, keeps its slot until it has, and
is answered as ungraded meanwhile. So does what is left when a server that stops has waited long enough.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus

from rubricgrade.errors import RubricgradeError
from rubricgrade.plural import count
from rubricgrade.result import Cause, Grade, Subject
from rubricgrade.rewards.rewarded import cause_of
from rubricgrade.rewards.unfinished import unfinished
from rubricgrade.rubric import Rubric
from rubricgrade.server.refusing import CLOSE, Refused
from rubricgrade.server.scratch import Scratch
from rubricgrade.trajectory import Trajectory

LOG = logging.getLogger("rubricgrade.server")

LATEST = 100
"""Grades whose time says how long one takes."""
LONGEST_WAIT = 60
"""Seconds that a client is told to wait at most before it tries again."""
LONGEST_END = 20
"""Seconds in which work that was told to end has to."""
GRADED_CAUSES: dict[str, Cause] = {
    cause: cause
    for cause in ("trajectory_invalid", "template_missing", "sandbox_unavailable", "sandbox_lost")
}  # fmt: skip
"""Causes of an exception that a grade knows too; any other is a defect."""


@dataclass(frozen=True, slots=True)
class Episode:
    """What is to be graded with what.

    Attributes:
        trajectory: With its workspace and world, if it has any.
        rubric: Loaded.
        name: What the server calls the rubric.
        scratch: Where its files lie.
        ungated: Decide the criteria also when a gate has failed.
    """

    trajectory: Trajectory
    rubric: Rubric
    name: str
    scratch: Scratch
    ungated: bool = False


@dataclass(slots=True, eq=False)
class Place:
    """What a request takes up of the desk: one episode until it is known how many there are.

    Attributes:
        episodes: That many.
        being_read: Whether they are still to be handed in.
    """

    episodes: int = 0
    being_read: bool = True


class Desk:
    """See the module's text. Made in the event loop that it works in.

    Args:
        grade: Grades one episode.
        concurrency: Episodes in work at a time.
        queue: Episodes that may wait besides.
        ended: Told of every episode that was answered: its grade, and the seconds since it was taken.
    """

    def __init__(
        self,
        grade: Callable[[Episode], Awaitable[Grade]],
        *,
        concurrency: int,
        queue: int,
        ended: Callable[[Episode, Grade, float], None],
    ) -> None:
        self._grade = grade
        self._concurrency = concurrency
        self._most = concurrency + queue
        self._ended = ended
        self._slots = asyncio.Semaphore(concurrency)
        self._taken = 0
        self._places: set[Place] = set()
        self._working: set[asyncio.Task[Grade]] = set()
        self._durations: deque[float] = deque(maxlen=LATEST)
        self._cut = asyncio.get_running_loop().create_future()
        self.in_flight = 0
        self.stopping = False

    @property
    def waiting(self) -> int:
        """Episodes that were taken and are not in work."""
        return max(0, self._taken - self.reading - self.in_flight)

    @property
    def reading(self) -> int:
        """Episodes of requests that are being read; one for each request of which it is not known yet."""
        return sum(place.episodes for place in self._places if place.being_read)

    @contextmanager
    def place(self) -> Generator[Place]:
        """A place for one request, for as long as it is read and its answer waited for.

        Raises:
            Refused: The server stops (503), or the desk is full (429).
        """
        place = Place()
        self.take(place, 1)
        self._places.add(place)
        try:
            yield place
        finally:
            self._places.discard(place)
            self._taken -= place.episodes

    def take(self, place: Place, episodes: int) -> None:
        """Let a request's place be for so many episodes, more or fewer than before.

        Raises:
            Refused: The server stops (503), the desk is full (429), or it never takes as many at once (422).
        """
        again = {"retry-after": str(self._wait())}
        if self.stopping:
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "stopping", "the server is stopping", {**CLOSE, **again})
        if episodes > self._most:
            message = f"{count(episodes, 'episode')} in one request; this server takes at most {self._most}"
            raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "too_many", message)
        if self._taken - place.episodes + episodes > self._most:
            message = (
                f"{count(self._taken, 'episode')} waiting or in work, and at most {self._most} may; try again later"
            )
            raise Refused(HTTPStatus.TOO_MANY_REQUESTS, "busy", message, again)
        self._taken += episodes - place.episodes
        place.episodes = episodes

    async def grades(self, episodes: Sequence[Episode], until: float, place: Place) -> list[Grade]:
        """Take episodes, all or none, and grade them.

        Args:
            episodes: In the order of the answer.
            until: The event loop's time by which there is an answer for all.
            place: Of the request that they came in.

        Raises:
            Refused: They are not taken, see `take`.
        """
        self.take(place, len(episodes))
        place.being_read = False
        return await asyncio.gather(*(self._answered(episode, until) for episode in episodes))

    def stop(self, drain: float) -> None:
        """Take nothing more, and give what was taken so many seconds to end. A second call ends the wait."""
        if self.stopping:
            drain = 0.0
        self.stopping = True
        asyncio.get_running_loop().call_later(drain, self._cut_off)

    async def closed(self) -> None:
        """Wait for what was told to end; not for ever: the process is about to end, and its sandboxes with it."""
        self._cut_off()
        if self._working:
            await asyncio.wait(self._working, timeout=LONGEST_END)

    async def _answered(self, episode: Episode, until: float) -> Grade:
        loop = asyncio.get_running_loop()
        began = loop.time()
        work = self._start(episode)
        try:
            await asyncio.wait({work, self._cut}, timeout=until - began, return_when=asyncio.FIRST_COMPLETED)
            grade = _finished(work, episode) or self._unfinished(episode, until - began)
        finally:
            # Also when nobody waits for the answer any more.
            work.cancel()
        self._ended(episode, grade, loop.time() - began)
        return grade

    def _start(self, episode: Episode) -> asyncio.Task[Grade]:
        work = asyncio.create_task(self._worked(episode))
        episode.scratch.hold()
        self._working.add(work)
        work.add_done_callback(self._left)
        work.add_done_callback(lambda _: episode.scratch.release())
        return work

    async def _worked(self, episode: Episode) -> Grade:
        async with self._slots:
            self.in_flight += 1
            try:
                return await self._grade(episode)
            finally:
                self.in_flight -= 1

    def _unfinished(self, episode: Episode, seconds: float) -> Grade:
        if self._cut.done():
            return _open(episode, "stopped", "the server was stopped before this episode was done")
        return _open(episode, "timeout", f"not done within the {seconds:.3g} s that were left for it")

    def _left(self, work: asyncio.Task[Grade]) -> None:
        self._working.discard(work)
        if work.cancelled():
            return
        if (error := work.exception()) is not None:
            LOG.error("an episode could not be graded", exc_info=error)
        else:
            self._durations.append(work.result().seconds)

    def _cut_off(self) -> None:
        if not self._cut.done():
            self._cut.set_result(None)

    def _wait(self) -> int:
        """Seconds until there may be room: what is waiting, at the pace of the latest grades."""
        each = sum(self._durations) / len(self._durations) if self._durations else 1.0
        return min(LONGEST_WAIT, max(1, math.ceil(each * self.waiting / self._concurrency)))


def _finished(work: asyncio.Task[Grade], episode: Episode) -> Grade | None:
    """The grade that work came to, or what stands for the error that it ended with; None while it is not done."""
    if not work.done():
        return None
    if work.cancelled():
        return _open(episode, "fault", "grading was cancelled from inside")
    error = work.exception()
    if error is None:
        return work.result()
    if isinstance(error, RubricgradeError) and (cause := GRADED_CAUSES.get(cause_of(error))) is not None:
        return _open(episode, cause, str(error))
    return _open(episode, "fault", f"{type(error).__name__}: the server's log has the rest")


def _open(episode: Episode, cause: Cause, message: str) -> Grade:
    rubric = episode.rubric
    subject = Subject(id=rubric.id, hash=rubric.hash, version=rubric.version)
    return unfinished(episode.trajectory, subject, cause, message)
