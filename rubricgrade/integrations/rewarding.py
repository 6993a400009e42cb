"""The one thing that all adapters do: an episode and its row in, a reward out, and never an exception because of them.

What the grader could not decide has no reward (None), with the cause and the bounds that its grade gives.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Self

from rubricgrade.chat.loops import PerLoop
from rubricgrade.errors import (
    InputError,
    RubricError,
    RubricgradeError,
    SandboxError,
    SandboxUnavailable,
    TemplateError,
    TrajectoryError,
)
from rubricgrade.grading import agrade
from rubricgrade.grading.judges import Judges
from rubricgrade.integrations.rubrics import Rubrics, RubricSource
from rubricgrade.integrations.tally import Tally
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.readers import write_trajectory
from rubricgrade.result import Grade
from rubricgrade.sandbox import Provider, Template
from rubricgrade.store.grades import write_grade
from rubricgrade.trajectory import Trajectory

LOG = logging.getLogger("rubricgrade.integrations")

Build = Callable[[], Trajectory | Awaitable[Trajectory]]

CAUSES: tuple[tuple[type[Exception], str], ...] = (
    (TrajectoryError, "trajectory_invalid"),
    (RubricError, "rubric_invalid"),
    (TemplateError, "template_missing"),
    (SandboxUnavailable, "sandbox_unavailable"),
    (SandboxError, "sandbox_lost"),
)
"""What an exception means when it ends an episode before there is a grade; anything else is a defect of ours."""


@dataclass(frozen=True, slots=True)
class Rewarded:
    """What came of one episode.

    Attributes:
        reward: The score, 0 to 1; None when the grader, not the agent, failed.
        cause: Why there is none: a cause of `result.Cause`, ``timeout``, ``rubric_invalid``, or ``fault`` for a defect
            of this package. None when there is a reward.
        message: One sentence on it, for people.
        grade: All of it; None when there is no grade at all.
    """

    reward: float | None
    cause: str | None = None
    message: str = ""
    grade: Grade | None = None

    @classmethod
    def of(cls, grade: Grade) -> Self:
        """What a grade is worth."""
        opened = next((item.message for item in [*grade.gates, *grade.leaves()] if item.open and item.message), "")
        return cls(grade.score, grade.cause, opened if grade.score is None else "", grade)

    def or_else(self, fallback: float) -> float:
        """The reward for hosts that have no "no score"; tell them apart by ``graded`` in `facts`."""
        return fallback if self.reward is None else self.reward

    def facts(self) -> dict[str, float]:
        """Numbers about it, always under the same names.

        ``graded`` and ``gated`` are 0 or 1; ``lowest`` and ``highest`` bound the score.
        """
        lowest, highest = self.grade.bounds if self.grade is not None else (0.0, 1.0)
        gated = self.grade is not None and self.grade.status == "gated"
        return {"graded": float(self.reward is not None), "gated": float(gated), "lowest": lowest, "highest": highest}

    def lines(self) -> str:
        """A line for the outcome and one for every gate and criterion, for people who read a trainer's log."""
        head = f"reward {self.reward:g}" if self.reward is not None else f"not graded ({self.cause}): {self.message}"
        if self.grade is None:
            return head
        items = [
            f"{item.id}: {item.verdict}" + (f" ({text})" if (text := item.reasoning or item.message) else "")
            for item in [*self.grade.gates, *self.grade.leaves()]
        ]
        return "\n".join([head, *items])


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
        RubricError: The rubric can't be used; said now, not in the middle of a run.
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
        self.tally.take([each.cause for each in found])
        return found

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
            cause = next((cause for kind, cause in CAUSES if isinstance(error, kind)), "fault")
            if cause == "fault":
                LOG.exception("a defect while grading; this episode has no reward")
            rewarded = Rewarded(None, cause, f"{type(error).__name__}: {error}")
        if rewarded.reward is None:
            LOG.warning("not graded (%s): %r", rewarded.cause, rewarded.message[:500])
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
            await asyncio.to_thread(_keep, grade, trajectory, self._store / trajectory.id)
        return grade


def fallback(value: object) -> float:
    """A number to stand for "could not be graded" in hosts that know nothing else.

    Raises:
        InputError: It is none, or not finite: NaN makes every advantage of a batch NaN.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"ungraded must be a finite number, not {value!r}: this host has no other 'no score'")
    return float(value)


def _keep(grade: Grade, trajectory: Trajectory, folder: Path) -> None:
    """Write both; a full disk costs the record, not the reward."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_trajectory(trajectory, folder / "trajectory.json")
        write_grade(grade, folder)
    except (RubricgradeError, OSError) as error:
        LOG.warning("a grade could not be kept: %s", error)


def _rewarder(given: dict[str, Any]) -> Rewarder:
    return Rewarder(**given)


async def _let_go(_slots: asyncio.Semaphore) -> None:
    """Nothing is held by a semaphore that nobody uses any more."""
