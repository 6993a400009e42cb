"""Recorded verdicts: who answered a question how, a JSON object a line, in files that people read, write and commit.

A recorded verdict knows its question alone, so that it outlives a change of model or prompt, and says who gave it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rubricgrade import twice
from rubricgrade.errors import Fault, InputError, StoreError
from rubricgrade.misfits import misfits
from rubricgrade.people import person
from rubricgrade.readers.native import replace_file

SCHEMA = "rubricgrade.verdict/1"
RECORDED = "verdicts.jsonl"
"""What a file of recorded verdicts is called that lies with the rubric that it is for."""
HAND = "hand: "
"""How `recorded_by` begins where a person gave the verdict; anything else is a model."""


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True, validate_by_name=True)


class RecordedQuote(_Line):
    """A quote of a recorded verdict; looked up like any other."""

    quote: str
    where: str | None = None


class Verdict(_Line):
    """One line of a file of recorded verdicts, and what the cache holds.

    Attributes:
        question: Hash of what was asked.
        rubric: The rubric's id, for people.
        criterion: The criterion's id, for people.
        asked: The criterion's wording, for people.
        item: Of a `for_each`.
        trajectory: The trajectory's id, for people.
        answer: ``yes`` (or ``met``), ``no`` (or ``not_met``), ``cannot_tell`` or a choice of the scale; None in a
            skeleton, which decides nothing.
        reasoning: Why.
        evidence: Quotes.
        recorded_by: ``hand: NAME``, or else a model.
        recorded_at: ISO 8601.
        key: The cache's key, if it comes from one.
        prompt: Hash of the prompt that was sent, where several questions shared one.
        served: The model that answered, as its provider names it.
        vote: Which of several votes it was, from 0.
        reply: The model's reply as it came.
        view: How the record was made to fit a model; empty if that is not known.
        of: How many votes were cast at once, failed ones too, which nobody keeps; 0 if that is not known.
        cut: What the model was shown lacked something for a reason of ours, so that a "no" of its proves nothing.
        imported: The file that `cache import` took it from; empty if a judge was asked with this very cache.
    """

    schema_: Literal["rubricgrade.verdict/1"] = Field(default=SCHEMA, alias="schema")
    question: str
    rubric: str = ""
    criterion: str = ""
    asked: str = ""
    item: str | None = None
    trajectory: str = ""
    answer: str | None = None
    reasoning: str = ""
    evidence: tuple[RecordedQuote, ...] = ()
    recorded_by: str = ""
    recorded_at: str = ""
    key: str | None = None
    prompt: str = ""
    served: str = ""
    vote: int = 0
    reply: str = ""
    view: Literal["", "whole", "trimmed", "retrieved", "mapped"] = ""
    of: int = 0
    cut: bool = False
    imported: str = ""

    def to_line(self) -> str:
        """Its JSON, with a newline; what is empty is left out, but for what a skeleton wants filled in."""
        facts = self.model_dump(mode="json")
        wanted = ("schema", "question", "answer", *(("reasoning", "evidence", "recorded_by") if self.open else ()))
        kept = {name: value for name, value in facts.items() if value or name in wanted}
        return json.dumps(kept, ensure_ascii=False) + "\n"

    @property
    def open(self) -> bool:
        """Whether it is a skeleton, still to be filled in."""
        return self.answer is None

    @property
    def by_hand(self) -> bool:
        """Whether a person gave it. Whatever came through a cache is a model's, whoever it names."""
        return self.recorded_by.startswith(HAND) and not self.imported

    @property
    def of_vote(self) -> tuple[object, ...]:
        """Which vote it is: a person has one, a model casts each once. Other settings are another key."""
        if self.by_hand:
            return self.question, person(self.recorded_by)
        return self.question, self.recorded_by, self.vote, self.key

    def says_the_same_as(self, other: Verdict) -> bool:
        """Whether two records of a vote agree in all that decides anything or is shown for a reason."""
        return (self.answer, self.reasoning, self.evidence) == (other.answer, other.reasoning, other.evidence)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded verdict, and the line that it stands in, from 1."""

    verdict: Verdict
    line: int


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A file of recorded verdicts.

    Attributes:
        lines: All of them, skeletons included.
        answered: Those with an answer, by question.
    """

    lines: tuple[Recorded, ...]
    answered: Mapping[str, tuple[Recorded, ...]]


def read_verdicts(path: Path) -> tuple[Verdict, ...]:
    """All lines of a file of recorded verdicts, skeletons included. Raises as `read_recorded` does."""
    return tuple(each.verdict for each in read_recorded(path).lines)


def read_recorded(path: Path) -> RecordedFile:
    """A file of recorded verdicts; one that has not changed is not read again.

    Raises:
        InputError: The file can't be read, a line is no verdict, or two lines say different things for one vote (by
            the same judge on the same question); every such line is named.
    """
    try:
        facts = path.stat()
        return _read(path, facts.st_mtime_ns, facts.st_size)
    except OSError as error:
        raise InputError(Fault(f"can't read recorded verdicts: {error.strerror or error}", str(path))) from error


@lru_cache(maxsize=32)
def _read(path: Path, _changed: int, _size: int) -> RecordedFile:
    lines: list[Recorded] = []
    answered: dict[str, list[Recorded]] = {}
    faults: list[Fault] = []
    votes: dict[tuple[object, ...], tuple[int, Verdict]] = {}
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            verdict = Verdict.model_validate_json(line)
        except ValidationError as error:
            faults += [Fault(f"no recorded verdict: {told}", str(path), number) for told in misfits(error)]
            continue
        if (told := twice.told(line)) is not None:
            faults.append(Fault(told, str(path), number))
            continue
        if not verdict.open and not verdict.recorded_by:
            faults.append(Fault("a recorded verdict says who gave it ('recorded_by')", str(path), number))
        if not verdict.open:
            first, other = votes.setdefault(verdict.of_vote, (number, verdict))
            if not verdict.says_the_same_as(other):
                faults.append(Fault(_contradiction(first, other, verdict), str(path), number))
            answered.setdefault(verdict.question, []).append(Recorded(verdict, number))
        lines.append(Recorded(verdict, number))
    if faults:
        raise InputError(faults)
    return RecordedFile(tuple(lines), {question: tuple(found) for question, found in answered.items()})


def beside(rubric: Path) -> tuple[Path, ...]:
    """The recorded verdicts that lie with a rubric's file, if any do.

    The commands and the reward server take them where nobody is asked and no others are named; `grade` of Python takes
    the files that `JudgeOptions.verdicts` names and no others.
    """
    file = rubric.parent / RECORDED
    return (file,) if file.is_file() else ()


def _contradiction(number: int, one: Verdict, other: Verdict) -> str:
    differ = f"{one.answer!r} there, {other.answer!r} here"
    what = differ if one.answer != other.answer else "with other reasons or quotes"
    return (
        f"line {number} records another verdict by {other.recorded_by!r} on the same question ({what}): "
        "keep one of the two lines"
    )


def write_verdicts(path: Path, verdicts: Iterable[Verdict]) -> None:
    """Write a file of recorded verdicts, or of skeletons to be filled in; whole or not at all.

    Raises:
        StoreError: It can't be written.
    """
    text = "".join(verdict.to_line() for verdict in verdicts)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode())
    except OSError as error:
        raise StoreError(f"can't write {path}: {error.strerror or error}") from error
