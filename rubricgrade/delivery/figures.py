"""The numbers of a report, counted from a run's attempts by their current grades."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rubricgrade.delivery.records import Band, Delivered, Part
from rubricgrade.runs.standing import Attempt, standing

EDGES = (0.25, 0.5, 0.75)
NAMES = ("never", "up to 25%", "25% to 50%", "50% to 75%", "75% up", "always")
"""Bands of the rate at which a task was solved; an edge belongs to the band below it."""


def part(tasks: Mapping[str, Delivered], attempts: Iterable[Attempt]) -> Part:
    """One side of a delivery: its mix, and how an agent did on it.

    Args:
        tasks: Those of the side.
        attempts: Of a run; those of other tasks are left out.
    """
    by_task: dict[str, list[Attempt]] = {name: [] for name in sorted(tasks)}
    for attempt in attempts:
        if attempt.line.task in by_task:
            by_task[attempt.line.task].append(attempt)
    tried = {name: its for name, its in by_task.items() if its}
    categories = sorted({tasks[name].category for name in tried} - {""})
    rows = [
        standing(each, {name: its for name, its in tried.items() if tasks[name].category == each}, (1,))
        for each in categories
    ]
    if tried:
        rows.append(standing("overall", tried, (1,)))
    return Part(
        tasks=len(tasks),
        categories=_counted(each.category for each in tasks.values()),
        difficulties=_counted(each.difficulty for each in tasks.values()),
        bands=_bands([rate for its in tried.values() if (rate := _rate(its)) is not None]),
        baseline=tuple(rows),
    )


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(name or "none" for name in names).items()))


def _rate(attempts: Sequence[Attempt]) -> float | None:
    graded = [attempt.solved for attempt in attempts if attempt.reward is not None]
    return sum(graded) / len(graded) if graded else None


def _bands(rates: Sequence[float]) -> tuple[Band, ...]:
    found = Counter(_band(rate) for rate in rates)
    return tuple(Band(name=name, tasks=found[name]) for name in NAMES) if rates else ()


def _band(rate: float) -> str:
    if rate in (0, 1):
        return NAMES[-1] if rate else NAMES[0]
    return NAMES[1 + sum(rate > edge for edge in EDGES)]
