"""What a view of a record is wanted for, when the record does not fit."""

from __future__ import annotations

from dataclasses import dataclass

from rubricgrade.judge.aside import Aside
from rubricgrade.judge.question import Question
from rubricgrade.judge.record import Record


@dataclass(frozen=True, slots=True)
class Need:
    """A view that is wanted.

    Attributes:
        record: What it is of.
        question: What it must help to decide.
        room: Characters that it may take.
        aside: Asks the judge what must be in it; None if nobody may be asked.
    """

    record: Record
    question: Question
    room: int
    aside: Aside | None
