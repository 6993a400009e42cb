"""A number that may be undefined, and the counts of answers that every measure is computed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Undefined:
    """A number that does not exist, and why. It is neither 0 nor NaN."""

    reason: str


Number = float | Undefined

Pairs = Mapping[tuple[str, str], int]
"""How often people said the first and the judge the second."""

Counts = Mapping[tuple[str | None, str], int]
"""The same over all decisions of the judge: the first is None where people gave no answer."""


def labelled_only(counts: Counts) -> Pairs:
    """The counts of what people answered."""
    return {(person, judge): count for (person, judge), count in counts.items() if person is not None}
