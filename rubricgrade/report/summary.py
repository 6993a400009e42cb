"""What many grades come to: counts that add up, the mean, the cost, and the one rule that decides the exit code.

Text, JSON and the exit code all read the same `Summary`, so that they can never disagree.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from rubricgrade.report.exits import Exit
from rubricgrade.report.numbers import count, number
from rubricgrade.result import Grade
from rubricgrade.runs.opened import Opened, opened
from rubricgrade.runs.raising import Raising, raising

CLOSE = 1e-9


class Summary(BaseModel):
    """What a number of grades come to.

    Attributes:
        n: Grades in all; always `graded` + `gated` + `ungraded`.
        missing: Trajectories without a grade, because grading was interrupted.
        skipped: Faults of trajectories that could not be read and were left out, as was asked.
        causes: How many ungraded ones have each (first) cause.
        opened: The same, with what the first of each says.
        mean: Mean score over graded and gated, 0 to 1; None when there are none. An ungraded one is in no mean.
        counted: How many the mean is over.
        cost: US dollars of all judge calls; None when any of it is unknown.
        calls: Judge calls that were made, retries and failures included.
        input_tokens: Of all prompts.
        cached_tokens: How many of these were read from a provider's cache.
        output_tokens: Of all replies.
        min_score: The bar that was asked for.
        reached: Whether the mean reaches the bar; None without a bar or while something is ungraded.
        exit_code: See `Exit`.
        verdict: The rule behind the exit code, in words.
        warnings: Of the trajectories' readers (what could not be carried over) and of grading.
        warned: How many grades have one.
        raising: Checks that raised the same at the same line in several episodes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    n: int
    missing: int = 0
    skipped: int = 0
    graded: int
    gated: int
    ungraded: int
    causes: dict[str, int]
    opened: tuple[Opened, ...] = ()
    mean: float | None
    counted: int
    cost: float | None
    calls: int
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    min_score: float | None = None
    reached: bool | None = None
    exit_code: int
    verdict: str
    warnings: int = 0
    warned: int = 0
    raising: tuple[Raising, ...] = ()


def summarise(
    grades: Sequence[Grade], *, min_score: float | None = None, of: int | None = None, skipped: int = 0
) -> Summary:
    """Sum up.

    Args:
        grades: What there is; may be empty.
        min_score: The mean score that is asked for, 0 to 1 (compared at 1e-9).
        of: How many there should be; fewer grades mean that grading was interrupted. Default: as many as there are.
        skipped: Faults of what could not be read and was left out: then this is no whole batch, as with ungraded ones.
    """
    scores = [grade.score for grade in grades if grade.score is not None]
    statuses = Counter(grade.status for grade in grades)
    mean = math.fsum(scores) / len(scores) if scores else None
    costs = [grade.usage.cost for grade in grades]
    missing = 0 if of is None else of - len(grades)
    code, verdict = (
        (Exit.INTERRUPTED, f"interrupted: {len(grades)} of {of} done") if missing else _outcome(grades, mean, min_score)
    )
    if skipped and code in (Exit.DONE, Exit.BELOW):
        code, verdict = Exit.UNGRADED, f"what could not be read was skipped ({count(skipped, 'fault')}); {verdict}"
    return Summary(
        n=len(grades),
        missing=missing,
        skipped=skipped,
        graded=statuses["graded"],
        gated=statuses["gated"],
        ungraded=statuses["ungraded"],
        causes=dict(sorted(Counter(str(grade.cause) for grade in grades if grade.status == "ungraded").items())),
        opened=opened((grade.trajectory.id, grade) for grade in grades),
        mean=mean,
        counted=len(scores),
        cost=None if None in costs else sum(cost for cost in costs if cost is not None),
        calls=sum(grade.usage.calls for grade in grades),
        input_tokens=sum(grade.usage.input_tokens for grade in grades),
        cached_tokens=sum(grade.usage.cached_tokens for grade in grades),
        output_tokens=sum(grade.usage.output_tokens for grade in grades),
        min_score=min_score,
        reached=code is Exit.DONE if min_score is not None and code in (Exit.DONE, Exit.BELOW) else None,
        exit_code=int(code),
        verdict=verdict,
        warnings=sum(len(grade.warnings) for grade in grades),
        warned=sum(bool(grade.warnings) for grade in grades),
        raising=raising(grades),
    )


def warned(summary: Summary) -> str:
    """How many warnings there are, and where they stand; empty without any."""
    if not summary.warnings:
        return ""
    told = f"{count(summary.warnings, 'warning')} on {summary.warned} of {count(summary.n, 'grade')}"
    return f"{told}, about what could not be read and the like: see Warnings in each (`rubricgrade show`)"


def _outcome(grades: Sequence[Grade], mean: float | None, min_score: float | None) -> tuple[Exit, str]:
    ungraded = [grade for grade in grades if grade.status == "ungraded"]
    if any("budget" in grade.causes for grade in ungraded):
        return Exit.COST_CAP, f"the cost cap stopped judging: {len(ungraded)} of {len(grades)} ungraded"
    if ungraded:
        return Exit.UNGRADED, f"{len(ungraded)} of {len(grades)} ungraded"
    if min_score is None or mean is None:
        return Exit.DONE, "everything is graded"
    asked = f"mean score {number(mean)} of {count(len(grades), 'grade')}, asked for at least {number(min_score)}"
    return (Exit.DONE, f"{asked}: reached") if mean >= min_score - CLOSE else (Exit.BELOW, f"{asked}: below")
