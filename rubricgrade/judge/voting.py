"""Several answers into one: the majority of the panel, or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def majority(answers: Iterable[str], panel: int) -> str | None:
    """The answer that more than half of the panel gave.

    Args:
        answers: Of those who answered; a failed vote is not among them, and counts for nobody.
        panel: How many were asked.

    Returns:
        The answer; None for a tie, or when too few answered.
    """
    ranked = Counter(answers).most_common(1)
    return ranked[0][0] if ranked and 2 * ranked[0][1] > panel else None


def split(answers: Iterable[str]) -> str:
    """How the votes fell, in words: ``2 yes, 1 no``."""
    return ", ".join(f"{count} {answer}" for answer, count in sorted(Counter(answers).items(), key=_by_count))


def _by_count(entry: tuple[str, int]) -> tuple[int, str]:
    return -entry[1], entry[0]
