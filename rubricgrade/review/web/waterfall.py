"""How points add up to a score, as bars that each begin where the one before ended."""

from __future__ import annotations

from dataclasses import dataclass

from rubricgrade.report.arithmetic import counted
from rubricgrade.result import CriterionResult, Grade

WIDTH = 100.0


@dataclass(frozen=True, slots=True)
class Bar:
    """One criterion's bar, on an axis of 100.

    Attributes:
        result: The criterion.
        start: Where its bar begins, from the left.
        width: Of the bar; 0 if nothing is earned.
        room: What it could have earned at most; 0 for a penalty.
        style: ``earned``, ``lost`` or ``open``.
    """

    result: CriterionResult
    start: float
    width: float
    room: float
    style: str


@dataclass(frozen=True, slots=True)
class Waterfall:
    """All bars.

    Attributes:
        bars: In the rubric's order.
        zero: Where no points are.
        full: Where all positive points are.
    """

    bars: tuple[Bar, ...]
    zero: float
    full: float


def waterfall(grade: Grade) -> Waterfall | None:
    """The bars of a grade; None if nothing in it has points. What is open is drawn as all that it may yet be worth."""
    items = counted(grade)
    if not items:
        return None
    steps: list[tuple[CriterionResult, float, float]] = []
    at = 0.0
    for item in items:
        change = (item.points or 0.0) if item.earned is None else item.earned
        steps.append((item, at, change))
        # What is open is not counted on: the next bar begins where this one does.
        at += 0.0 if item.earned is None else item.earned
    possible = sum(max(item.points or 0.0, 0.0) for item in items)
    edges = [0.0, possible, *(start for _, start, _ in steps), *(start + change for _, start, change in steps)]
    low, high = min(edges), max(edges)
    scale = WIDTH / (high - low) if high > low else 0.0
    bars = tuple(
        Bar(
            item,
            (min(start, start + change) - low) * scale,
            abs(change) * scale,
            max(item.points or 0.0, 0.0) * scale,
            "open" if item.earned is None else "earned" if change > 0 else "lost",
        )
        for item, start, change in steps
    )
    return Waterfall(bars, (0.0 - low) * scale, (possible - low) * scale)
