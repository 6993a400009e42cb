"""A criterion, or one item of it, ready to be decided."""

from __future__ import annotations

from dataclasses import dataclass

from rubricgrade.judge.options import Votes
from rubricgrade.judge.question import Question
from rubricgrade.judge.record import Record
from rubricgrade.rubric import Criterion


@dataclass(frozen=True, slots=True)
class Case:
    """What is to be decided, and how.

    Attributes:
        criterion: A judged one.
        item: Of a `for_each`.
        record: What may be seen.
        question: What is asked.
        models: The panel; empty if nobody is named.
        votes: Of each model.
        batch: How many such questions are asked in one call, at most.
    """

    criterion: Criterion
    item: str | None
    record: Record
    question: Question
    models: tuple[str, ...]
    votes: Votes
    batch: int

    @property
    def model(self) -> str | None:
        """The panel, as a grade names it."""
        return ",".join(self.models) or None
