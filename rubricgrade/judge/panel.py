"""A panel: who votes, when a stronger judge decides instead, and what several answers come to.

They come to the median, if it holds whatever the missing votes would have been; for yes and no that is the answer of
more than half of the panel. Who came first, or is listed first, decides nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rubricgrade.judge.asking import Cast
from rubricgrade.judge.options import Votes
from rubricgrade.judge.question import CANNOT_TELL


@dataclass(frozen=True, slots=True)
class Ballot:
    """One vote to be cast: which model, and which of its votes, from 0."""

    model: str
    index: int


@lru_cache(maxsize=64)  # the same for all criteria of a rubric
def ballots(models: tuple[str, ...], votes: Votes) -> tuple[tuple[Ballot, ...], Ballot | None]:
    """The ballots of a panel.

    Args:
        models: Of the panel; empty asks nobody, which is one ballot that no model can cast.
        votes: Of each model; ``adaptive`` is two ballots of the whole panel, and one more if they differ.

    Returns:
        Those that are cast at once, and the one more.
    """
    models = models or ("",)
    count = 3 if votes == "adaptive" else votes * len(models)
    every = tuple(Ballot(models[number % len(models)], number // len(models)) for number in range(count))
    return (every[:-1], every[-1]) if votes == "adaptive" else (every, None)


def doubts(casts: Sequence[Cast], suspicions: Sequence[str]) -> str | None:
    """Why a stronger judge should decide; None if there is no reason."""
    answers = {cast.answer for cast in casts if cast.answer is not None}
    if any(cast.unverified for cast in casts):
        return "the quotes of an answer do not carry it"
    if len(answers) > 1:
        return "the votes differ"
    if CANNOT_TELL in answers:
        return "the judge could not tell"
    return "the record seems to talk to its grader" if suspicions else None


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
