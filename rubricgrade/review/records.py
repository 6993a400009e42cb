"""What a reviewer did: one JSON line for every act, in one file per reviewer beside the trajectory, only ever added to.

An act is taken back by a later one. Files of different reviewers merge without conflict.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from rubricgrade import twice
from rubricgrade.errors import Fault, InputError, StoreError
from rubricgrade.misfits import first_misfit
from rubricgrade.result import Evidence
from rubricgrade.store import journal
from rubricgrade.trajectory import CleanText

SCHEMA = "rubricgrade.review/1"
FOLDER = "reviews"
SUFFIX = ".jsonl"
REVIEWER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}\Z")

Text = Annotated[CleanText, StringConstraints(max_length=20_000)]

WhyDrawn = Literal["all", "uncertain", "flipped", "random", "gold", "human"]
"""Why something is in a queue: nothing was drawn; doubtful; judged otherwise by another version; by chance; known
answer; for people to decide anyway."""

Cause = Literal["judge_wrong", "reviewer_wrong", "criterion_ambiguous", "evidence_missing", "trajectory_cut", "other"]
"""What an adjudicator holds a disagreement to come from."""


class Value(BaseModel):
    """A frozen part of a record."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, serialize_by_alias=True)


class Drawn(Value):
    """How an item came into the queue.

    Attributes:
        draw: Names the draw; empty when everything is in the queue.
        reason: Why it is there.
        probability: That this draw would hold it, above 0 to 1; agreement is weighted by its inverse.
    """

    draw: str = ""
    reason: WhyDrawn = "all"
    probability: Annotated[float, Field(gt=0, le=1)] = 1.0


class Act(Value):
    """What all records have.

    Attributes:
        id: 16 hex digits; names it for a later act that takes it back.
        at: ISO 8601, UTC.
        by: The reviewer.
        trajectory: Its content hash.
        rubric: The rubric's content hash.
        criterion: Its id; ``ID[2]`` for the second item of a `for_each`.
        question: Hash of what was asked, so that the act holds for other rubrics that ask the same.
    """

    schema_: Literal["rubricgrade.review/1"] = Field(default=SCHEMA, alias="schema")
    id: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
    at: str
    by: Annotated[str, StringConstraints(pattern=REVIEWER.pattern.replace(r"\Z", "$"))]
    trajectory: str
    rubric: str
    criterion: str
    question: str


class Decided(Act):
    """A verdict.

    Attributes:
        verdict: ``met``, ``not_met``, a choice of the criterion's scale, or ``cannot_tell``.
        blind: The reviewer had not seen what the judge said of it.
        why: A note; needed for a verdict that is changed after the judge's was seen.
        evidence: The reviewer's own quotes, looked up.
        drawn: How the item came to the reviewer; None if not out of a queue.
        imported: Read from a file of labels.
    """

    kind: Literal["decided"] = "decided"
    verdict: Text
    blind: bool
    why: Text = ""
    evidence: tuple[Evidence, ...] = ()
    drawn: Drawn | None = None
    imported: bool = False


class Revealed(Act):
    """From here on the reviewer has seen the judge's verdict.

    Attributes:
        grade: Hash of the grade that was shown, in its form without times.
    """

    kind: Literal["revealed"] = "revealed"
    grade: str


class Skipped(Act):
    """The reviewer did not decide, and says why."""

    kind: Literal["skipped"] = "skipped"
    why: Text


class Unclear(Act):
    """The reviewer holds the criterion's wording to be unclear, and says how."""

    kind: Literal["unclear"] = "unclear"
    why: Text


class Adjudicated(Act):
    """What holds after people, or people and the judge, disagreed."""

    kind: Literal["adjudicated"] = "adjudicated"
    verdict: Text
    cause: Cause
    why: Annotated[Text, StringConstraints(min_length=1)]


class Undone(Act):
    """An earlier act of the same reviewer does not hold any more."""

    kind: Literal["undone"] = "undone"
    undoes: str


Record = Annotated[Decided | Revealed | Skipped | Unclear | Adjudicated | Undone, Field(discriminator="kind")]
_RECORD: TypeAdapter[Record] = TypeAdapter(Record)


def record_schema() -> dict[str, Any]:
    """JSON Schema of a line of a reviewer's file."""
    return _RECORD.json_schema(mode="serialization")


def new_id() -> str:
    """A name for a record that no other has."""
    return secrets.token_hex(8)


def now() -> str:
    """The time, as records have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def reviewer_name(name: str) -> str:
    """The name, if it can be a reviewer's: it becomes the name of a file.

    Raises:
        InputError: It can't.
    """
    if not REVIEWER.match(name):
        raise InputError(
            Fault(f"{name!r} is no reviewer's name: up to 60 letters, digits, dots, dashes and underscores (a-z, 0-9)")
        )
    return name


def file_of(folder: Path, reviewer: str) -> Path:
    """Where a reviewer's records of an episode lie."""
    return folder / FOLDER / f"{reviewer_name(reviewer)}{SUFFIX}"


def add_records(folder: Path, records: Sequence[Record]) -> None:
    """Add the records of one reviewer to an episode, all or none of them.

    Raises:
        StoreError: They can't be written.
    """
    home = folder / FOLDER
    try:
        if home.is_symlink():
            raise StoreError(f"{home} is a link, which is never followed")
        home.mkdir(exist_ok=True)
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"can't make {home}: {error.strerror or error}") from error
    (reviewer,) = {record.by for record in records}
    lines = "".join(record.model_dump_json() + "\n" for record in records)
    with journal.opened(file_of(folder, reviewer)) as file:
        file.add(lines.encode())


def record_files(folder: Path) -> list[Path]:
    """The files of all reviewers of an episode, by name. What is no reviewer's file is left out; so are links.

    Raises:
        StoreError: The folder can't be read.
    """
    home = folder / FOLDER
    if home.is_symlink() or not home.is_dir():
        return []
    try:
        return sorted(
            path
            for path in home.iterdir()
            if path.suffix == SUFFIX and REVIEWER.match(path.stem) and path.is_file() and not path.is_symlink()
        )
    except OSError as error:
        raise StoreError(f"can't read {home}: {error.strerror or error}") from error


def read_records(file: Path) -> list[Record]:
    """All records of a reviewer's file, in order.

    Raises:
        StoreError: The file can't be read, or a line is no record of its reviewer; says which line.
    """
    found: list[Record] = []
    for number, line in enumerate(journal.whole_lines(file), 1):
        try:
            record = _RECORD.validate_json(line)
        except ValidationError as error:
            raise StoreError(f"{file}:{number}: is no review record: {first_misfit(error)}") from None
        if (told := twice.told(line)) is not None:
            raise StoreError(f"{file}:{number}: {told}")
        if record.by != file.stem:
            raise StoreError(f"{file}:{number}: is a record by {record.by}, in a file of {file.stem}")
        found.append(record)
    return found
