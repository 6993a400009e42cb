"""Krippendorff's alpha: agreement of any number of raters, each of whom may have left out any unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from rubricgrade.agreement.number import Number, Undefined

_PAIR = 2


def krippendorff_alpha(units: Iterable[Sequence[str]], *, order: Sequence[str] | None = None) -> Number:
    """Krippendorff's alpha, at most 1; 0 is chance.

    Args:
        units: For each thing that was rated, the answers that there are; a missing one is left out. Units with fewer
            than two answers count for nothing.
        order: All answers, lowest first, for the ordinal difference; None for the nominal one.

    Returns:
        ``1 - seen / expected`` disagreement over all pairs of answers within units and over all answers (Krippendorff
        2011). Undefined if nothing was rated twice, or all answers are the same.
    """
    rated = [Counter(unit) for unit in units if len(unit) >= _PAIR]
    totals = sum(rated, Counter[str]())
    if not rated:
        return Undefined("nothing was answered by two people")
    if order is not None and (unknown := sorted(totals.keys() - set(order))):
        return Undefined(f"the place of {', '.join(unknown)} in the scale is not known")
    cost = _nominal if order is None else _ordinal(order, totals)
    seen = sum(_disagreement(unit, cost) / (unit.total() - 1) for unit in rated)
    expected = _disagreement(totals, cost)
    if not expected:
        return Undefined("one label: all answers are the same")
    return 1 - (totals.total() - 1) * seen / expected


def _disagreement(answers: Counter[str], cost: Callable[[str, str], float]) -> float:
    return sum(n * m * cost(one, other) for one, n in answers.items() for other, m in answers.items())


def _nominal(one: str, other: str) -> float:
    return float(one != other)


def _ordinal(order: Sequence[str], totals: Counter[str]) -> Callable[[str, str], float]:
    """The squared number of answers between two, each end counted half."""
    below = {answer: sum(totals[lower] for lower in order[:index]) for index, answer in enumerate(order)}

    def cost(one: str, other: str) -> float:
        middle = (below[other] + totals[other] / 2) - (below[one] + totals[one] / 2)
        return middle**2

    return cost
