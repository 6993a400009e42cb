"""Several answers into one: the median of the panel, if it holds whatever the missing votes would have been.

For yes and no that is the answer of more than half of the panel. Who came first, or is listed first, decides nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rubricgrade.judge.question import CANNOT_TELL


def decided(answers: Iterable[str | None], choices: Sequence[str], panel: int) -> str | None:
    """What a panel decides.

    Args:
        answers: Choices, ``cannot_tell``, and None for a failed vote.
        choices: In order, lowest first.
        panel: How many were asked; who gave no answer is missing, like who could not tell.

    Returns:
        A choice; ``cannot_tell`` if more than half say so; None for a tie, or where the missing votes could decide.
    """
    given = list(answers)
    if 2 * given.count(CANNOT_TELL) > panel:
        return CANNOT_TELL
    ranks = sorted(choices.index(answer) for answer in given if answer is not None and answer != CANNOT_TELL)
    missing = panel - len(ranks)
    lowest = [0] * missing + ranks
    highest = ranks + [len(choices) - 1] * missing
    middles = {votes[middle] for votes in (lowest, highest) for middle in ((panel - 1) // 2, panel // 2)}
    return choices[middles.pop()] if len(middles) == 1 else None


def split(answers: Iterable[str]) -> str:
    """How the votes fell, in words: ``2 yes, 1 no``."""
    return ", ".join(f"{count} {answer}" for answer, count in sorted(Counter(answers).items(), key=_by_count))


def _by_count(entry: tuple[str, int]) -> tuple[int, str]:
    return -entry[1], entry[0]
