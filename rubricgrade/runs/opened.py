"""Why grades are ungraded: by cause, how many, and what the first of them says."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict

from rubricgrade.result import Cause, Grade


class Opened(BaseModel):
    """Grades that are ungraded for one cause.

    Attributes:
        cause: The first of each grade's causes.
        grades: How many.
        name: Of the first of them: the trajectory's, or its attempt's folder below the run.
        why: What its first item says that is open for this cause: ``total: the judge could not be reached``.
        judge: Who was to judge it; None if nobody was.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    cause: Cause
    grades: int
    name: str
    why: str
    judge: str | None


def opened(named: Iterable[tuple[str, Grade]]) -> tuple[Opened, ...]:
    """Every cause, the most frequent first."""
    by_cause: dict[Cause, list[tuple[str, Grade]]] = {}
    for name, grade in named:
        if grade.cause is not None:
            by_cause.setdefault(grade.cause, []).append((name, grade))
    rows = [_row(cause, len(ones), *ones[0]) for cause, ones in by_cause.items()]
    return tuple(sorted(rows, key=lambda row: -row.grades))


def _row(cause: Cause, number: int, name: str, grade: Grade) -> Opened:
    items = (item for item in (*grade.gates, *grade.leaves()) if item.open and item.cause == cause)
    why = next((f"{item.id}: {item.message or item.verdict}" for item in items), "")
    return Opened(cause=cause, grades=number, name=name, why=why, judge=grade.judge.id if grade.judge else None)
