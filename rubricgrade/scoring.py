"""The arithmetic: values of gates and criteria in, a score with bounds out. Pure, and exact.

``score = clip(sum(points * value) / sum(positive points), 0, 1)`` over the criteria that apply. Sums are fractions of
the numbers as written (0.1 is one tenth), so that no rounding can pass a threshold; the result becomes a float once,
at the end. An open value is the interval from 0 to 1, carried through every rule, so that the bounds contain the score
whatever the open verdicts turn out to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from rubricgrade.rubric import Band, Counting, Criterion, Rubric

ZERO, ONE = Fraction(0), Fraction(1)
CLOSE = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True)
class Interval:
    """All that a value may still be; decided when both ends are equal."""

    low: Fraction
    high: Fraction

    @property
    def decided(self) -> bool:
        """Whether only one value is left."""
        return self.low == self.high


OPEN = Interval(ZERO, ONE)
NOTHING = Interval(ZERO, ZERO)
FULL = Interval(ONE, ONE)


@dataclass(frozen=True, slots=True)
class Scored:
    """What follows from the values.

    Attributes:
        gated: A gate failed or a veto is met.
        score: The score if it is decided (a gated one is 0.0), else None.
        ratio: Earned over positive points, unclipped; None while anything is open, and where there are no points.
        bounds: Lowest and highest score that is still possible.
        failed_gates: Ids of gates below their bar.
        met_vetoes: Ids of vetoes that are met.
        applicable: Whether any positive points apply (always true for a rubric of gates only).
        values: What each criterion (groups too) counts as, after `at_least`, `needs` and `full_at`.
    """

    gated: bool
    score: float | None
    ratio: float | None
    bounds: tuple[float, float]
    failed_gates: tuple[str, ...]
    met_vetoes: tuple[str, ...]
    applicable: bool
    values: Mapping[str, Interval]


@lru_cache(maxsize=4096, typed=True)  # points and values are the same few numbers in every grade
def exact(number: float) -> Fraction:
    """The number as written: ``0.1`` is one tenth. Raises `ValueError` for bools, NaN and infinities."""
    if isinstance(number, bool):
        raise ValueError("a bool is no number here")  # noqa: TRY004 - one error type for every number that is none
    # float's own repr: that of a subclass (numpy's) says more than the number.
    decimal = Decimal(float.__repr__(number)) if isinstance(number, float) else Decimal(number)
    if not decimal.is_finite():
        raise ValueError(f"{number} is no finite number")
    return Fraction(decimal)


def banded(bands: Iterable[Band], measured: float) -> float:
    """The value of a measured number: the best band that it reaches, else 0."""
    number = exact(measured)
    reached = [
        band.value
        for band in bands
        if (band.at_least is not None and number >= exact(band.at_least))
        or (band.at_most is not None and number <= exact(band.at_most))
    ]
    return max(reached, default=0.0)


def reaches(value: float, bar: float) -> bool:
    """Whether a value is at or above a bar, to a billionth of it: 0 is below every bar."""
    return exact(value) >= exact(bar) * (ONE - CLOSE)


def worst(points: float | None, sign: int = 1) -> float:
    """The value that costs most: 0 where points can be earned, 1 on a penalty or a veto (no points)."""
    return 1.0 if points is None or points * sign < 0 else 0.0


def score(rubric: Rubric, values: Mapping[str, float | None]) -> Scored:
    """Score a rubric.

    Args:
        rubric: Says what applies, and what counts how much.
        values: Value 0 to 1 of each gate and each criterion that is no group, by id; None or absent means open.
            What does not apply is not asked for.

    Raises:
        ValueError: A value is no finite number from 0 to 1.
    """
    given = {name: _interval(value) for name, value in values.items()}
    counting = rubric.counting
    known = _Values(counting, given)
    gates = {
        gate.id: _reaches(given.get(gate.id, OPEN), exact(gate.at_least))
        for gate in rubric.gates
        if gate.id in counting.gates
    }
    vetoes = {top.id: _reaches(known.found[top.id], ONE) for top in rubric.tops if top.veto and counting.counts(top)}
    counted = [top for top in rubric.tops if not top.veto and counting.counts(top)]
    earned, possible = known.sums(counted)
    failed = tuple(name for name, value in gates.items() if value == NOTHING)
    met = tuple(name for name, value in vetoes.items() if value == FULL)
    gated = bool(failed or met)
    applicable = rubric.criteria is None or possible > 0
    ratio = Interval(earned.low / possible, earned.high / possible) if possible else None
    may_be_gated = any(value.low < ONE for value in gates.values()) or any(value.high for value in vetoes.values())
    bounds = NOTHING if gated else _bounds(rubric, ratio, may_be_gated=may_be_gated)
    whole = applicable and not open_items(rubric, values)
    return Scored(
        gated=gated,
        score=float(bounds.low) if gated or whole else None,
        ratio=float(ratio.low) if ratio is not None and whole else None,
        bounds=(float(bounds.low), float(bounds.high)),
        failed_gates=failed,
        met_vetoes=met,
        applicable=applicable,
        values=known.found,
    )


def open_items(rubric: Rubric, values: Mapping[str, float | None]) -> list[str]:
    """Ids of gates and criteria that apply, can change the score, and have no value."""
    return [name for name in (*rubric.counting.gates, *rubric.counting.deciding) if values.get(name) is None]


def _bounds(rubric: Rubric, ratio: Interval | None, *, may_be_gated: bool) -> Interval:
    if rubric.criteria is None:
        allowed = FULL
    else:
        allowed = OPEN if ratio is None else Interval(_clip(ratio.low), _clip(ratio.high))
    return Interval(ZERO, allowed.high) if may_be_gated else allowed


class _Values:
    """The interval of every criterion that applies.

    Attributes:
        found: Intervals by id, groups included, after `at_least`, `needs` and `full_at`.
    """

    def __init__(self, counting: Counting, given: Mapping[str, Interval]) -> None:
        self._counting = counting
        self.found: dict[str, Interval] = {}
        for criterion in counting.order:
            self.found[criterion.id] = self._work_out(criterion, given.get(criterion.id, OPEN))

    def sums(self, parts: Iterable[Criterion]) -> tuple[Interval, Fraction]:
        """What parts that count earn, and the most that they could earn without their penalties."""
        low = high = possible = ZERO
        for part in parts:
            points, value = exact(part.points or 0), self.found[part.id]
            gain = points.numerator > 0
            if gain:
                possible += points
            if value is FULL:
                low, high = low + points, high + points
            elif value is not NOTHING:
                least, most = (value.low, value.high) if gain else (value.high, value.low)
                low, high = low + points * least, high + points * most
        return Interval(low, high), possible

    def _work_out(self, criterion: Criterion, given: Interval) -> Interval:
        value = given if criterion.criteria is None else self._group(criterion)
        if criterion.at_least is not None:
            value = _reaches(value, exact(criterion.at_least))
        for need in criterion.needs:
            if need not in self._counting.earning:
                continue
            have = _reaches(self.found[need], ONE)
            if have == NOTHING:
                return NOTHING
            if have == OPEN:
                value = Interval(ZERO, value.high)
        return value

    def _group(self, group: Criterion) -> Interval:
        total, positive = self.sums(part for part in group.criteria or () if self._counting.counts(part))
        full = positive if group.full_at is None else exact(group.full_at)
        return Interval(_clip(total.low / full), _clip(total.high / full)) if positive else NOTHING


@lru_cache(maxsize=4096, typed=True)
def _interval(value: float | None) -> Interval:
    if value is None:
        return OPEN
    number = exact(value)
    if not ZERO <= number <= ONE:
        raise ValueError(f"a value is from 0 to 1, not {value}")
    return NOTHING if not number else FULL if number == ONE else Interval(number, number)


def _reaches(value: Interval, bar: Fraction) -> Interval:
    least = bar * (ONE - CLOSE)
    return Interval(ONE if value.low >= least else ZERO, ONE if value.high >= least else ZERO)


def _clip(number: Fraction) -> Fraction:
    return min(max(number, ZERO), ONE)
