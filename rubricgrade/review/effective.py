"""The grade that holds once people have spoken: worked out on reading, without a model, beside the one that stands.

An adjudication holds; else what more than half of the people hold; else the judge's verdict. Where people are divided
the verdict is open until somebody settles it, and the score an interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rubricgrade.result import CriterionResult, Grade
from rubricgrade.review.items import Item
from rubricgrade.review.opinions import Opinion, majority, settled
from rubricgrade.rubric import Criterion, Rubric
from rubricgrade.scoring import Scored, score


@dataclass(frozen=True, slots=True)
class Ruling:
    """What people made of an item.

    Attributes:
        verdict: What holds; None where they are divided.
        value: 0 to 1.
        by: Who says so, for people.
    """

    verdict: str | None
    value: float | None
    by: str


def ruling_on(item: Item, opinions: Mapping[str, Opinion]) -> Ruling | None:
    """What people say; None where the judge's verdict stands."""
    values = {answer.verdict: answer.value for answer in item.answers}
    if (act := settled(opinions.values())) is not None:
        return Ruling(act.verdict, values.get(act.verdict), f"settled by {act.by}")
    verdict, divided = majority(opinions.values())
    if divided:
        return Ruling(None, None, "people are divided")
    if verdict is None:
        return None
    names = [name for name, opinion in opinions.items() if opinion.final and opinion.final.verdict == verdict]
    return Ruling(verdict, values.get(verdict), f"decided by {', '.join(sorted(names))}")


def values_of(grade: Grade, rubric: Rubric, rulings: Mapping[str, Ruling]) -> dict[str, float | None]:
    """The value of every gate and every criterion that is no group, before thresholds and needs.

    Args:
        grade: What was decided by code and by the judge.
        rubric: What it was graded with.
        rulings: What people say, by the criterion of an item.
    """
    criteria = {leaf.id: leaf for leaf in rubric.leaves()}
    values = {gate.id: gate.value for gate in grade.gates}
    for leaf in grade.leaves():
        values[leaf.id] = _value(leaf, criteria[leaf.id], rulings)
    return values


def effective_score(grade: Grade, rubric: Rubric, rulings: Mapping[str, Ruling]) -> Scored:
    """The score that holds, or its bounds."""
    return score(rubric, values_of(grade, rubric, rulings))


def effective_grade(grade: Grade, rubric: Rubric, rulings: Mapping[str, Ruling]) -> Grade:
    """The grade with the score, the status and the points that hold. It is shown, and never written."""
    scored = effective_score(grade, rubric, rulings)
    return grade.model_copy(
        update={
            "status": "gated" if scored.gated else "ungraded" if scored.score is None else "graded",
            "score": scored.score,
            "ratio": scored.ratio,
            "bounds": scored.bounds,
            "criteria": tuple(_counted(result, scored) for result in grade.criteria),
        }
    )


def _counted(result: CriterionResult, scored: Scored) -> CriterionResult:
    counts = scored.values.get(result.id)
    if counts is None:
        return result
    value = float(counts.low) if counts.decided else None
    earned = None if value is None or result.points is None else result.points * value
    return result.model_copy(update={"value": value, "earned": earned})


def _value(leaf: CriterionResult, criterion: Criterion, rulings: Mapping[str, Ruling]) -> float | None:
    if leaf.parts:
        parts = [_value(part, criterion, rulings) for part in leaf.parts]
        return None if None in parts else _mean([part for part in parts if part is not None])
    if (ruling := rulings.get(leaf.id)) is not None:
        return ruling.value
    if leaf.value is None:
        return None
    return _before_needs(leaf, criterion)


def _before_needs(leaf: CriterionResult, criterion: Criterion) -> float | None:
    """The value that was given, where the grade has what it counted as; None where that can't be known any more."""
    if leaf.verdict in ("met", "not_met"):
        return 1.0 if leaf.verdict == "met" else 0.0
    chosen = [
        choice.value for choice in (criterion.judge and criterion.judge.scale) or () if choice.choice == leaf.verdict
    ]
    if chosen:
        return chosen[0]
    # A share, or what a doubt counts as: thresholds change it no more, but an unmet need has made it 0.
    return leaf.value if leaf.value or not criterion.needs else None


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
