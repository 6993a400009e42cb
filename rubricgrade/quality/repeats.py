"""What does not come out the same when it is done again: the reference played again, an attempt graded again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rubricgrade.quality.records import Doubt, Found, Kind, Undecided
from rubricgrade.result import CriterionResult, GateResult, Grade
from rubricgrade.runs.proving import differing_items

REPLAYED = "make the solution and what it is checked for independent of time, chance, order and speed"
REGRADED = "make the check independent of time, chance, order and speed; compare what is the same every time"
ASKED = "ask for a fact that a judge cannot see in two ways, or take several votes"
AUTHORS = frozenset({"check_error", None})
"""Causes of an item without a verdict that the task's own code can have."""


def differences(
    names: Sequence[str], grades: Sequence[Grade], places: Mapping[str, str], *, what: str, remedy: str
) -> Iterator[Found]:
    """A doubt for every gate or criterion that some grades don't decide alike.

    Where the difference is that one of them could not be decided, for a reason of the grader's, nothing was found out.

    Args:
        names: Of the grades, for people.
        grades: By one rubric.
        places: ``file:line`` by gate and criterion.
        what: Was done again, as the end of a sentence.
        remedy: Against a difference in what code decides.
    """
    for item in differing_items(*grades):
        results = [_result(grade, item) for grade in grades]
        told = tuple(f"{name}: {item} {_told(result)}" for name, result in zip(names, results, strict=True))
        judged = any(isinstance(result, CriterionResult) and result.by == "judge" for result in results)
        kind: Kind = "ambiguous" if judged else "flaky"
        if any(result.open and result.cause not in AUTHORS for result in results):
            causes = sorted({str(result.cause) for result in results if result.open})
            yield Undecided(kind=kind, why=f"{item} was not decided every time ({', '.join(causes)})")
        else:
            yield Doubt(
                kind=kind,
                what=f"{item} is decided otherwise when {what}",
                evidence=told,
                place=places.get(item, ""),
                remedy=ASKED if judged else remedy,
            )


def _result(grade: Grade, name: str) -> GateResult | CriterionResult:
    return next(item for item in (*grade.gates, *grade.leaves()) if item.id == name)


def _told(result: GateResult | CriterionResult) -> str:
    value = "open" if result.value is None else f"{result.value:g}"
    return f"{result.verdict} ({value}) {result.message}".rstrip()
