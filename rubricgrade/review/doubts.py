"""Signs that a judge's verdict may be wrong, from what the grades say. Never shown before a reviewer has decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rubricgrade.agreement.measures import CANNOT_TELL
from rubricgrade.result import CriterionResult, Grade

NEAR_MARK = 0.1
"""How near a score must be to the mark for its verdicts to be doubted."""

WEIGHTS = {
    "split votes": 32,
    "no verdict": 16,
    "changed since the last grade": 8,
    "quote not found": 4,
    "quote not word for word": 2,
    "score near the mark": 1,
}
"""Each sign weighs more than all below it together."""


def doubts(result: CriterionResult, grade: Grade, before: CriterionResult | None, mark: float) -> tuple[str, ...]:
    """The signs, heaviest first.

    Args:
        result: The judge's verdict.
        grade: What it is part of.
        before: What the last grade but this one said of the same, if there is one.
        mark: The score from which an attempt counts as solved, 0 to 1.
    """
    return tuple(sorted(set(_signs(result, grade, before, mark)), key=lambda sign: -WEIGHTS[sign]))


def weight(signs: tuple[str, ...]) -> int:
    """How doubtful they make a verdict; 0 is not at all."""
    return sum(WEIGHTS[sign] for sign in signs)


def _signs(result: CriterionResult, grade: Grade, before: CriterionResult | None, mark: float) -> Iterator[str]:
    votes = Counter(vote.answer for vote in result.judge.votes) if result.judge else Counter[str]()
    if len(votes) > 1:
        yield "split votes"
    if result.open or result.verdict == CANNOT_TELL:
        yield "no verdict"
    if before is not None and before.verdict != result.verdict:
        yield "changed since the last grade"
    for evidence in result.evidence:
        if evidence.verified == "not_found":
            yield "quote not found"
        elif evidence.verified == "near":
            yield "quote not word for word"
    if grade.score is not None and 0 < abs(grade.score - mark) <= NEAR_MARK:
        yield "score near the mark"
