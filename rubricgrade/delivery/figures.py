"""The numbers of a report, counted from a run's attempts by their current grades."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rubricgrade.delivery.records import Band, Delivered, Part
from rubricgrade.runs.standing import Attempt, Scored, standing

EDGES = (0.25, 0.5, 0.75)
NAMES = ("never", "up to 25%", "25% to 50%", "50% to 75%", "75% up", "always")
"""Bands of the rate at which a task was solved; an edge belongs to the band below it."""


def part(tasks: Mapping[str, Delivered], attempts: Iterable[Attempt]) -> Part:
    """One side of a delivery: its mix, and how an agent did on it.

    Args:
        tasks: Those of the side.
        attempts: Of a run; those of other tasks are left out.
    """
    by_task: dict[str, list[Attempt]] = {}
    # In the order in which a delivery has its trajectories: then who counts again from those draws the same interval.
    for attempt in sorted(attempts, key=lambda one: one.line.key):
        if attempt.line.task in tasks:
            by_task.setdefault(attempt.line.task, []).append(attempt)
    return figures(tasks, by_task)


def figures(tasks: Mapping[str, Delivered], tried: Mapping[str, Sequence[Scored]]) -> Part:
    """The numbers of one side.

    Args:
        tasks: Those of the side.
        tried: The attempts of each task that has any, in the order of ids.
    """
    categories = sorted({tasks[name].category for name in tried} - {""})
    rows = [
        standing(each, {name: its for name, its in tried.items() if tasks[name].category == each}, (1,))
        for each in categories
    ]
    if tried:
        rows.append(standing("overall", tried, (1,)))
    return Part(
        tasks=len(tasks),
        categories=counted(each.category for each in tasks.values()),
        difficulties=counted(each.difficulty for each in tasks.values()),
        bands=_bands([rate for its in tried.values() if (rate := _rate(its)) is not None]),
        baseline=tuple(rows),
    )


def counted(names: Iterable[str]) -> dict[str, int]:
    """How often each name occurs; an empty one is ``none``."""
    return dict(sorted(Counter(name or "none" for name in names).items()))


def _rate(attempts: Sequence[Scored]) -> float | None:
    graded = [attempt.solved for attempt in attempts if attempt.reward is not None]
    return sum(graded) / len(graded) if graded else None


def _bands(rates: Sequence[float]) -> tuple[Band, ...]:
    found = Counter(_band(rate) for rate in rates)
    return tuple(Band(name=name, tasks=found[name]) for name in NAMES) if rates else ()


def _band(rate: float) -> str:
    if rate in (0, 1):
        return NAMES[-1] if rate else NAMES[0]
    return NAMES[1 + sum(rate > edge for edge in EDGES)]
