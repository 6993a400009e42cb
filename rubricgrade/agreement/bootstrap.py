"""Intervals by drawing whole trajectories again and again: what stands in one trajectory is not independent."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rubricgrade.agreement.number import Number, Undefined

DRAWS = 2000
LEVEL = 0.95
_FEWEST = 2

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Interval:
    """Between these the number lies with the level's confidence."""

    low: float
    high: float


def intervals(
    clusters: Sequence[Mapping[Key, int]],
    measure: Callable[[Mapping[Key, int]], Mapping[str, Number]],
    *,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
) -> dict[str, Interval | Undefined]:
    """Percentile intervals of a cluster bootstrap.

    A draw in which a number is undefined could have been anything: it counts as lower than all others for the low end
    and as higher for the high end. So a few of them widen the interval, and many leave none.

    Args:
        clusters: The counts of each trajectory; their order does not matter.
        measure: Computes numbers by name from summed counts; always the same names.
        draws: How often as many trajectories as there are get drawn, with replacement.
        seed: The same seed gives the same intervals.
        level: Of confidence, 0 to 1.

    Returns:
        An interval for each name, or why there is none.
    """
    if len(clusters) < _FEWEST:
        alone = Counter[Key](*clusters)
        return dict.fromkeys(measure(alone), Undefined("fewer than two trajectories"))
    # Trajectories with equal counts are interchangeable: drawing kinds lets draws share their sums.
    kinds = Counter(tuple(sorted(cluster.items(), key=repr)) for cluster in clusters)
    ordered = sorted(kinds, key=repr)
    often = [kinds[kind] for kind in ordered]
    source = random.Random(seed)  # noqa: S311 - statistics, and the same numbers again are wanted
    drawn = Counter(
        tuple(sorted(Counter(source.choices(range(len(ordered)), often, k=len(clusters))).items()))
        for _ in range(draws)
    )
    found: defaultdict[str, list[tuple[Number, int]]] = defaultdict(list)
    for picks, times in drawn.items():
        total = Counter[Key]()
        for index, picked in picks:
            for key, count in ordered[index]:
                total[key] += picked * count
        for name, value in measure(total).items():
            found[name].append((value, times))
    return {name: _interval(values, (1 - level) / 2) for name, values in found.items()}


def _interval(values: Sequence[tuple[Number, int]], tail: float) -> Interval | Undefined:
    defined = sorted(value for value, times in values if not isinstance(value, Undefined) for _ in range(times))
    missing = sum(times for value, times in values if isinstance(value, Undefined))
    place = tail * (len(defined) + missing - 1)
    if int(place) < missing:
        share = missing / (len(defined) + missing)
        return Undefined(f"undefined in {share:.0%} of the draws: too few trajectories of one kind")
    low, high = _between(defined, place - missing), _between(defined, len(defined) - 1 - (place - missing))
    return Interval(low, high)


def _between(values: Sequence[float], place: float) -> float:
    """The value at a place that may lie between two."""
    lower = int(place)
    upper = min(lower + 1, len(values) - 1)
    return values[lower] + (values[upper] - values[lower]) * (place - lower)
