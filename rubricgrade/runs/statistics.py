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
        inner = [draw.choices(group, k=len(group)) for group in chosen]
        means.append(math.fsum(math.fsum(group) / len(group) for group in inner) / len(inner))
    means.sort()
    tail = (1 - LEVEL) / 2
    return means[int(tail * draws)], means[min(draws - 1, math.ceil((1 - tail) * draws))]


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
