"""The one thing that all adapters do: an episode and its row in, a reward out, and never an exception because of them.

What the grader could not decide has no reward (None), with the cause and the bounds that its grade gives.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from rubricgrade.chat.loops import PerLoop
from rubricgrade.errors import InputError
from rubricgrade.grading import agrade
from rubricgrade.grading.judges import Judges
from rubricgrade.integrations.tally import Tally
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.result import Grade
from rubricgrade.rewards.keeping import keep
from rubricgrade.rewards.rewarded import Build, Rewarded, cause_of
from rubricgrade.rewards.rubrics import Rubrics, RubricSource
from rubricgrade.sandbox import Provider, Template
from rubricgrade.trajectory import Trajectory

LOG = logging.getLogger("rubricgrade.integrations")


class Rewarder:
    """Grades episodes for a host. Made once per run; can be pickled, and used in any thread and event loop.

    Args:
        rubric: A rubric, its path, or a function from an episode's row to either. For a path, values of the row that
            are named like the rubric's vars are given to it.
        judge: As in `agrade`; one client, one cache and one budget for all episodes.
        provider: As in `agrade`.
        template: As in `agrade`.
        store: A folder: every episode's trajectory and grade are kept in ``<trajectory id>/`` there.
        timeout: Seconds for one call of the host, be it one episode or a batch, waiting included; what is not done by
            then has no reward, and its sandboxes are killed. None sets no limit.
        concurrency: Episodes in work at a time, in one event loop.
        abort_above: Raise `TooManyUngraded` when more than this share of the latest episodes could not be graded.
            None never raises.

    Attributes:
        tally: How many episodes ended how.

    Raises:
        InputError: The rubric can't be used, or a model that may be asked can't be (no such provider, no key, no such
            file); said now, not in the middle of a run. Nobody is asked with ``JudgeOptions(offline=True)``.
    """

    def __init__(
        self,
        rubric: RubricSource,
        *,
        judge: str | JudgeOptions | None = None,
        provider: Provider | None = None,
        template: Template | None = None,
        store: str | PathLike[str] | None = None,
        timeout: float | None = None,
        concurrency: int = 8,
        abort_above: float | None = None,
    ) -> None:
        if concurrency < 1:
            raise InputError(f"concurrency must be at least 1, not {concurrency!r}")
        if timeout is not None and not _is_time(timeout):
            raise InputError(f"timeout must be a number of seconds above 0, or None for no limit, not {timeout!r}")
        self._given = {
            "rubric": rubric,
            "judge": judge,
            "provider": provider,
            "template": template,
            "store": store,
            "timeout": timeout,
            "concurrency": concurrency,
            "abort_above": abort_above,
        }
        self._rubrics = Rubrics(rubric)
        self._judges = Judges.of(judge)
        self._judges.check(self._rubrics.known, varying=True)
        self._provider = provider
        self._template = template
        self._store = None if store is None else Path(store)
        self._timeout = timeout
        self._slots = PerLoop(lambda: asyncio.Semaphore(concurrency), _let_go)
        self.tally = Tally(abort_above)

    def __reduce__(self) -> tuple[Callable[..., Rewarder], tuple[dict[str, Any]]]:
        return _rewarder, (self._given,)

    async def one(self, build: Build, row: Mapping[str, Any] | None = None) -> Rewarded:
        """The reward of one episode.

        Args:
            build: Makes the trajectory. What goes wrong in there is an outcome like any other.
            row: What the host's data set says about the task.

        Raises:
            TooManyUngraded: See `abort_above`; nothing else is ever raised.
        """
        return (await self.many([build], [row or {}]))[0]

    async def many(self, builds: Sequence[Build], rows: Sequence[Mapping[str, Any]]) -> list[Rewarded]:
        """The rewards of a batch, in its order; arguments as in `one`."""
        loop = asyncio.get_running_loop()
        until = None if self._timeout is None else loop.time() + self._timeout
        async with self._judges:
            found = await asyncio.gather(
                *(self._rewarded(build, row, until) for build, row in zip(builds, rows, strict=True))
            )
        before = self.tally.counts
        try:
            self.tally.take([each.cause for each in found])
        finally:
            self._tell(before, found)
        return found

    def _tell(self, before: Mapping[str, int], found: Sequence[Rewarded]) -> None:
        """Warn of a cause when it is new, and at every power of ten of its count: not once per rollout."""
        latest = {each.cause: each.message for each in found if each.cause is not None}
        for cause, count in self.tally.counts.items():
            known = before.get(cause, 0)
            if cause in latest and (not known or len(str(count)) > len(str(known))):
                LOG.warning("episodes without a reward (%s), so far %d: %r", cause, count, latest[cause][:500])

    async def _rewarded(self, build: Build, row: Mapping[str, Any], until: float | None) -> Rewarded:
        try:
            async with asyncio.timeout_at(until), await self._slots.get():
                made = build()
                trajectory = await made if inspect.isawaitable(made) else made
                rewarded = Rewarded.of(await self._grade(trajectory, row))
        except TimeoutError:
            rewarded = Rewarded(None, "timeout", f"not done within {self._timeout} s")
        except Exception as error:
            # Raised, it would stop a run that may have cost days, or leave its other workers waiting for ever.
            cause = cause_of(error)
            if cause == "fault":
                LOG.exception("a defect while grading; this episode has no reward")
            rewarded = Rewarded(None, cause, f"{type(error).__name__}: {error}")
        return rewarded

    async def _grade(self, trajectory: Trajectory, row: Mapping[str, Any]) -> Grade:
        grade = await agrade(
            trajectory,
            self._rubrics.of(row),
            judge=self._judges,
            provider=self._provider,
            template=self._template,
        )
        if self._store is not None:
            await asyncio.to_thread(keep, grade, trajectory, self._store / trajectory.id)
        return grade


def _is_time(seconds: object) -> bool:
    """Whether it is a time that can pass: NaN would never, and never raise."""
    return isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 < seconds < math.inf


def _rewarder(given: dict[str, Any]) -> Rewarder:
    return Rewarder(**given)


async def _let_go(_slots: asyncio.Semaphore) -> None:
    """Nothing is held by a semaphore that nobody uses any more."""
