"""From the results of gates and criteria to one grade: arithmetic, status, causes, and what was graded with what."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from rubricgrade.grading.criteria import verdict_of
from rubricgrade.result import (
    Cause,
    CriterionResult,
    GateResult,
    Grade,
    Isolation,
    ItemResult,
    Subject,
    Usage,
)
from rubricgrade.rubric import Rubric
from rubricgrade.scoring import Scored, open_items, score
from rubricgrade.trajectory import Trajectory
from rubricgrade.version import __version__

CAUSES: tuple[Cause, ...] = (
    "template_missing",
    "sandbox_unavailable",
    "sandbox_lost",
    "check_error",
    "trajectory_invalid",
    "budget",
    "judge_failed",
    "judge_unparseable",
    "no_judge",
    "needs_review",
    "cannot_tell",
    "nothing_applicable",
    "gate_failed",
)
"""Causes by weight of consequence: the first that is there is the grade's `cause`."""


def assemble(
    rubric: Rubric,
    trajectory: Trajectory,
    gates: Sequence[GateResult],
    criteria: Sequence[CriterionResult],
    *,
    judge: Subject | None,
    workspace: str | None,
    template: Subject | None = None,
    isolation: Isolation,
    warnings: tuple[str, ...] = (),
    seconds: float,
) -> Grade:
    """The grade that follows from the results."""
    leaves = list(_leaves(criteria))
    values = {item.id: item.value for item in [*gates, *leaves]}
    scored = score(rubric, values)
    waiting = set(open_items(rubric, values))
    first_open = sorted((leaf for leaf in leaves if leaf.open), key=lambda leaf: leaf.id not in waiting)
    settled = tuple(_settle(result, scored, waiting, first_open, top=True) for result in criteria)
    causes = () if scored.score is not None else _causes(scored, [*gates, *leaves], waiting)
    status = "gated" if scored.gated else "ungraded" if scored.score is None else "graded"
    return Grade(
        status=status,
        score=scored.score,
        ratio=scored.ratio,
        bounds=scored.bounds,
        cause=causes[0] if causes else None,
        causes=causes,
        rubric=Subject(id=rubric.id, hash=rubric.hash, version=rubric.version),
        trajectory=Subject(id=trajectory.id, hash=trajectory.hash),
        workspace=workspace,
        template=template,
        judge=judge,
        gates=tuple(gates),
        criteria=settled,
        isolation=isolation,
        usage=sum((leaf.judge.usage for leaf in _asked(leaves) if leaf.judge), Usage()),
        warnings=(*map(str, trajectory.warnings), *warnings),
        seconds=seconds,
        created=datetime.now(UTC).isoformat(timespec="milliseconds"),
        versions={"rubricgrade": __version__, "python": platform.python_version()},
    )


def _leaves(results: Sequence[CriterionResult]) -> Iterator[CriterionResult]:
    for result in results:
        if result.by == "criteria":
            yield from _leaves(result.parts)
        else:
            yield result


def _asked(leaves: Sequence[CriterionResult]) -> Iterator[CriterionResult]:
    for leaf in leaves:
        yield leaf
        yield from leaf.parts


def _settle(
    result: CriterionResult, scored: Scored, waiting: set[str], open_leaves: Sequence[CriterionResult], *, top: bool
) -> CriterionResult:
    """A result with the value that counts after thresholds, needs and groups.

    Args:
        result: Of a criterion and its parts.
        scored: What all of them count as.
        waiting: Ids of the open items that the score waits for; others, such as those with 0 points, hold up nothing.
        open_leaves: All of the rubric's, those that the score waits for first.
        top: Whether it is no part of a group.
    """
    if result.verdict == "not_applicable":
        return result
    counts = scored.values[result.id]
    update: dict[str, object] = {}
    group = result.by == "criteria"
    if group:
        update["parts"] = tuple(_settle(part, scored, waiting, open_leaves, top=False) for part in result.parts)
    inside = {leaf.id for leaf in _leaves([result]) if leaf.open}
    if counts.decided and not (inside & waiting if group else inside):
        value = float(counts.low)
        update["value"] = value
        if group:
            update |= {"verdict": verdict_of(value), "cause": None, "message": _sum_text(result)}
        elif value != result.value:
            update["message"] = f"{result.message}; counts as {value:g}".lstrip("; ")
        if top and result.points is not None:
            update["earned"] = result.points * value
    elif group:
        # A part may wait (`needs`) for something outside of its group, with nothing open in it.
        first = next((leaf for leaf in open_leaves if leaf.id in inside), open_leaves[0])
        update |= {"verdict": "not_run" if first.verdict == "not_run" else "error", "cause": first.cause}
    return result.model_copy(update=update)


def _sum_text(group: CriterionResult) -> str:
    return f"group of {len(group.parts)}"


def _causes(scored: Scored, items: Sequence[ItemResult], waiting: set[str]) -> tuple[Cause, ...]:
    found = {item.cause for item in items if item.id in waiting and item.cause is not None}
    if not scored.applicable:
        found.add("nothing_applicable")
    return tuple(cause for cause in CAUSES if cause in found)
