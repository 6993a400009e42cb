"""Files of what people decided: one JSON object a line, or one row of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rubricgrade import twice
from rubricgrade.agreement.label_tables import csv_rows, parquet_rows
from rubricgrade.errors import Fault, InputError
from rubricgrade.misfits import misfits
from rubricgrade.people import person

SCHEMA = "rubricgrade.label/1"
TABLES = {".csv": csv_rows, ".parquet": parquet_rows}

Name = Annotated[str, Field(min_length=1)]


class Label(BaseModel):
    """One line.

    Attributes:
        trajectory: Its id, its content hash (``sha256:...``), or its folder below the one that was named.
        criterion: Its id; ``ID[2]`` for the second item of a `for_each`.
        verdict: ``met``, ``not_met``, a choice of the criterion's scale, or ``cannot_tell``.
        by: Who decided. Several people may label the same thing; case and space make nobody another person.
        why: A note; read by people only.
        line: Where it stands in its file, from 1; 0 if it comes from none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, serialize_by_alias=True)

    schema_: Literal["rubricgrade.label/1"] = Field(default=SCHEMA, alias="schema")
    trajectory: Name
    criterion: Name
    verdict: Name
    by: Name
    why: str = ""
    line: int = Field(default=0, exclude=True)


def read_labels(path: Path) -> tuple[Label, ...]:
    """All labels of a file: JSON lines, or by its ending a table: ``.csv``, or ``.parquet`` (extra ``parquet``).

    Raises:
        InputError: The file can't be read, a line is no label, or a person decided one thing twice; every such line is
            named.
        MissingExtraError: What reads Parquet is not installed.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(Fault(f"can't read labels: {error.strerror or error}", str(path))) from error
    read: list[Label] = []
    faults: list[Fault] = []
    try:
        for number, made in _made(data, path.suffix):
            if isinstance(made, Label):
                read.append(made.model_copy(update={"line": number}))
            else:
                faults += (Fault(f"no label: {told}", str(path), number) for told in made)
    except ValueError as error:
        raise InputError(Fault(f"is no table of labels: {error}", str(path))) from None
    labels: dict[tuple[str, str, str], Label] = {}
    for label in named_alike(read):
        key = (label.trajectory, label.criterion, label.by)
        if (first := labels.setdefault(key, label)) is not label:
            message = f"{label.by} has decided {label.criterion} of {label.trajectory} in line {first.line} already"
            faults.append(Fault(message, str(path), label.line))
    if not labels and not faults:
        faults.append(Fault("holds no label", str(path)))
    if faults:
        raise InputError(sorted(faults, key=lambda fault: fault.line))
    return tuple(labels.values())


def named_alike(labels: Iterable[Label]) -> Iterator[Label]:
    """The labels, with each person's name as it is written first."""
    names: dict[str, str] = {}
    for label in labels:
        by = names.setdefault(person(label.by), label.by)
        yield label if by == label.by else label.model_copy(update={"by": by})


def _made(data: bytes, suffix: str) -> Iterator[tuple[int, Label | list[str]]]:
    """What each line or row is, or what is wrong with it, with its number."""
    if suffix in TABLES:
        for number, row in TABLES[suffix](data):
            yield number, _or_faults(lambda row=row: Label.model_validate(row))
        return
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            made = _or_faults(lambda line=line: Label.model_validate_json(line))
            yield number, [told] if isinstance(made, Label) and (told := twice.told(line)) else made


def _or_faults(make: Callable[[], Label]) -> Label | list[str]:
    try:
        return make()
    except ValidationError as error:
        return misfits(error)
