"""What came of one episode: a reward or the cause why there is none, and the number that stands for "none" if one must.

What the grader could not decide has no reward (None), with the cause and the bounds that its grade gives.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Self

from rubricgrade.errors import (
    InputError,
    RubricError,
    SandboxError,
    SandboxUnavailable,
    TemplateError,
    TrajectoryError,
)
from rubricgrade.grading.telling import why_open
from rubricgrade.result import Grade
from rubricgrade.trajectory import Trajectory

Build = Callable[[], Trajectory | Awaitable[Trajectory]]
"""Makes the trajectory of an episode; what goes wrong in there is an outcome like any other."""

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
        return cls(grade.score, grade.cause, why_open(grade) if grade.score is None else "", grade)

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


def fallback(value: object) -> float:
    """A number to stand for "could not be graded" in hosts that know nothing else.

    Raises:
        InputError: It is none, or not finite: NaN makes every advantage of a batch NaN.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"ungraded must be a finite number, not {value!r}: this host has no other 'no score'")
    return float(value)


def cause_of(error: Exception) -> str:
    """The cause that an exception stands for when it ends an episode before there is a grade."""
    return next((cause for kind, cause in CAUSES if isinstance(error, kind)), "fault")
