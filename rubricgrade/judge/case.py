"""A criterion, or one item of it, ready to be decided; and ready to be asked, on one view of the record."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from rubricgrade import digest
from rubricgrade.judge import wording
from rubricgrade.judge.options import Votes
from rubricgrade.judge.question import Question
from rubricgrade.judge.record import Record
from rubricgrade.judge.view import View
from rubricgrade.rubric import Criterion

SYSTEM_HASH = digest.of_bytes(wording.SYSTEM.encode())


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
    def identity(self) -> str:
        """All of it that can change what is decided, in words of ours."""
        question = self.question
        return (
            f"{question.identity} {self.record.circumstances} {dict(question.values)} {question.absence} "
            f"{question.denies} {question.sums_up} {self.models} {self.votes} {self.batch}"
        )

    @property
    def model(self) -> str | None:
        """The panel, as a grade names it."""
        return ",".join(self.models) or None


@dataclass(frozen=True)
class Asking:
    """What all votes on one question have in common."""

    criterion: Criterion
    item: str | None
    view: View
    question: Question
    batch: int = 1

    @cached_property
    def prompt(self) -> str:
        """Hash of the messages that ask this question alone."""
        return prompt_hash(self.view, self.question.text)


def prompt_hash(view: View, text: str) -> str:
    """Hash of the messages that ask for something about a view."""
    return digest.of_bytes(f"{SYSTEM_HASH} {view.hash} {text}".encode())
