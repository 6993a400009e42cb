"""How the points of a grade make its score, written as one line that a reader can check by hand."""

from __future__ import annotations

from rubricgrade.report.numbers import number, span, total
from rubricgrade.result import CriterionResult, Grade


def counted(grade: Grade) -> list[CriterionResult]:
    """The top-level criteria that are in the sum."""
    return [item for item in grade.criteria if counts(item)]


def counts(item: CriterionResult) -> bool:
    """Whether it is in a sum: it has points, is no veto, applies, and if it is a group, something in it can be earned.

    A group of which only penalties apply could not be worth more than 0, so its points are out of reach and no part of
    the denominator (`rubricgrade.rubric.counting`).
    """
    if not item.points or item.veto or item.verdict == "not_applicable":
        return False
    return item.by != "criteria" or any(counts(part) and (part.points or 0) > 0 for part in item.parts)


def possible(grade: Grade) -> float:
    """The sum of the positive points that apply."""
    return total([item.points for item in counted(grade) if item.points and item.points > 0])


def points_line(grade: Grade) -> str | None:
    """``3 + 2 + 2 + 1 - 2 = 6 of 8``, with ``?`` for what is open; None for a rubric of gates only."""
    items = counted(grade)
    if not items:
        return None
    shown = [item for item in items if item.earned != 0 or (item.points or 0) > 0]
    terms = [_term(item.earned, item.points or 0, first=not index) for index, item in enumerate(shown)]
    sum_ = " ".join(terms) or "0"
    if any(item.earned is None for item in items):
        return f"{sum_} of {number(possible(grade))}"
    earned = total([item.earned for item in items if item.earned is not None])
    return f"{sum_} = {number(earned)} of {number(possible(grade))}"


def score_lines(grade: Grade) -> list[str]:
    """The way from points to score: the sum, clipping, and whatever overrules it."""
    points = points_line(grade)
    blocks = [f"gate {gate.id} failed" for gate in grade.gates if failed(gate.value, gate.at_least)]
    blocks += [f"veto {item.id} is met" for item in grade.criteria if item.veto and item.value == 1]
    if grade.status == "ungraded":
        lines = [points] if points else []
        return [*lines, f"no score yet; {span(grade.bounds)} whatever the open verdicts turn out to be"]
    score = number(grade.score or 0)
    if blocks:
        return [f"{' and '.join(blocks)} -> {score}"]
    if points is None:
        return [f"every gate passed and there is nothing else to earn -> {score}"]
    clipped = grade.ratio is not None and not 0 <= grade.ratio <= 1
    return [f"{points} -> {score}" + (f" (clipped from {number(grade.ratio or 0)})" if clipped else "")]


def failed(value: float | None, at_least: float) -> bool:
    """Whether a gate with this value is below its bar (compared at 1e-9, as scoring does)."""
    return value is not None and value < at_least - 1e-9


def _term(earned: float | None, points: float, *, first: bool) -> str:
    negative = points < 0
    size = "?" if earned is None else number(abs(earned))
    if first:
        return f"-{size}" if negative else size
    return f"- {size}" if negative else f"+ {size}"
