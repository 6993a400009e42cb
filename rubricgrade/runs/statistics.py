"""Numbers over attempts: pass@k, pass^k, means, and intervals. Nothing here reads a file."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

DRAWS = 2000
LEVEL = 0.95
Z = 1.959963984540054
"""Of a normal distribution, for 95 %."""


def pass_at_k(attempts: int, solved: int, k: int) -> float | None:
    """Probability that at least one of k attempts solves the task, without bias: 1 - C(n-c, k) / C(n, k).

    None when there are fewer than k attempts. (Chen et al. 2021, "Evaluating Large Language Models Trained on Code".)
    """
    if attempts < k:
        return None
    return 1 - math.comb(attempts - solved, k) / math.comb(attempts, k)


def pass_all_k(attempts: int, solved: int, k: int) -> float | None:
    """pass^k: probability that all of k attempts solve it, C(c, k) / C(n, k). None with fewer than k attempts.

    (Yao et al. 2024, "tau-bench".)
    """
    if attempts < k:
        return None
    return math.comb(solved, k) / math.comb(attempts, k)


def mean(values: Sequence[float]) -> float | None:
    """The mean; None of nothing."""
    return math.fsum(values) / len(values) if values else None


def interval(groups: Sequence[Sequence[float]], *, draws: int = DRAWS) -> tuple[float, float] | None:
    """A 95 % bootstrap interval of the mean over groups of each group's mean.

    Tasks are drawn again, and attempts within each; with one task only its attempts are. The same numbers give the
    same interval. None where there is nothing to draw from: a single value says nothing about its spread.
    """
    groups = [group for group in groups if group]
    if sum(len(group) for group in groups) <= 1:
        return None
    draw = random.Random(0)  # noqa: S311 - a fixed seed makes a report repeatable
    means: list[float] = []
    for _ in range(draws):
        chosen = draw.choices(groups, k=len(groups)) if len(groups) > 1 else groups
        means.append(math.fsum(_drawn_mean(draw, group) for group in chosen) / len(chosen))
    return _middle(means)


def difference_interval(
    groups: Sequence[tuple[Sequence[float], Sequence[float]]], *, draws: int = DRAWS
) -> tuple[float, float] | None:
    """A 95 % bootstrap interval of how much the mean over groups of each group's mean differs between two sides.

    Tasks are drawn again with both their sides, and attempts within each side by themselves: they are other attempts.
    The same numbers give the same interval. None where there is nothing to draw from.

    Args:
        groups: Values before and after, of each task; a task without values on both sides is left out.
        draws: How often.
    """
    groups = [group for group in groups if group[0] and group[1]]
    if len(groups) <= 1 and all(len(side) == 1 for group in groups for side in group):
        return None
    draw = random.Random(0)  # noqa: S311 - a fixed seed makes a report repeatable
    found: list[float] = []
    for _ in range(draws):
        chosen = draw.choices(groups, k=len(groups)) if len(groups) > 1 else groups
        differences = [_drawn_mean(draw, after) - _drawn_mean(draw, before) for before, after in chosen]
        found.append(math.fsum(differences) / len(differences))
    return _middle(found)


def wilson(solved: int, attempts: int) -> tuple[float, float] | None:
    """Wilson's 95 % interval of a rate; None without attempts. Holds also where all or none were solved."""
    if attempts == 0:
        return None
    rate, square = solved / attempts, Z * Z
    centre = (rate + square / (2 * attempts)) / (1 + square / attempts)
    spread = math.sqrt(rate * (1 - rate) / attempts + square / (4 * attempts**2))
    half = Z * spread / (1 + square / attempts)
    # At 0 and 1 a bound is the rate itself, which rounding must not push past it.
    return max(0.0, min(rate, centre - half)), min(1.0, max(rate, centre + half))


def _drawn_mean(draw: random.Random, values: Sequence[float]) -> float:
    return math.fsum(draw.choices(values, k=len(values))) / len(values)


def _middle(draws: Sequence[float]) -> tuple[float, float]:
    """Between which the middle 95 % of some draws lie."""
    ordered, tail = sorted(draws), (1 - LEVEL) / 2
    return ordered[int(tail * len(ordered))], ordered[min(len(ordered) - 1, math.ceil((1 - tail) * len(ordered)))]
