"""Who votes, in which order, and when a stronger judge decides instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rubricgrade.judge.asking import Cast
from rubricgrade.judge.options import Votes
from rubricgrade.judge.question import CANNOT_TELL


@dataclass(frozen=True, slots=True)
class Ballot:
    """One vote to be cast: which model, and which of its votes, from 0."""

    model: str
    index: int


def ballots(models: Sequence[str], votes: Votes) -> tuple[tuple[Ballot, ...], Ballot | None]:
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
        return "no quote of an answer stands in the record"
    if len(answers) > 1:
        return "the votes differ"
    if CANNOT_TELL in answers:
        return "the judge could not tell"
    return "the record seems to talk to its grader" if suspicions else None
