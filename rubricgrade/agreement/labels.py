"""Files of what people decided: one JSON object a line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rubricgrade.errors import Fault, InputError

SCHEMA = "rubricgrade.label/1"

Name = Annotated[str, Field(min_length=1)]


class Label(BaseModel):
    """One line.

    Attributes:
        trajectory: Its id, its content hash (``sha256:...``), or its folder below the one that was named.
        criterion: Its id; ``ID[2]`` for the second item of a `for_each`.
        verdict: ``met``, ``not_met``, a choice of the criterion's scale, or ``cannot_tell``.
        by: Who decided. Several people may label the same thing.
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
    """All labels of a file.

    Raises:
        InputError: The file can't be read, a line is no label, or a person decided one thing twice; every such line is
            named.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputError(Fault(f"can't read labels: {error.strerror or error}", str(path))) from error
    labels: dict[tuple[str, str, str], Label] = {}
    faults: list[Fault] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            label = Label.model_validate_json(line).model_copy(update={"line": number})
        except ValidationError as error:
            faults += (
                Fault(f"no label: {'.'.join(map(str, each['loc'])) or 'line'}: {each['msg']}", str(path), number)
                for each in error.errors(include_url=False)
            )
            continue
        key = (label.trajectory, label.criterion, label.by)
        if (first := labels.setdefault(key, label)) is not label:
            message = f"{label.by} has decided {label.criterion} of {label.trajectory} in line {first.line} already"
            faults.append(Fault(message, str(path), number))
    if not labels and not faults:
        faults.append(Fault("holds no label", str(path)))
    if faults:
        raise InputError(faults)
    return tuple(labels.values())
