"""Where the trajectory and the rubric of a grade lay, beside a grade that is kept apart from them.

A hint and no more: what is found there counts only if it still has the hash that the grade names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from rubricgrade.errors import StoreError
from rubricgrade.misfits import first_misfit
from rubricgrade.result import Subject
from rubricgrade.store.grades import rubric_stem

ENDING = ".sources.json"


class Source(BaseModel):
    """Where something lay.

    Attributes:
        path: Absolute; of a file or a folder.
        hash: Of its content when it was graded, ``sha256:...``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    hash: str


class Sources(BaseModel):
    """Where the sources of an episode's grades by one rubric lay.

    Attributes:
        schema_: Of the file.
        trajectory: An episode's folder, or a file that may hold others besides.
        rubric: Its file.
        vars: The values that its variables had.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_: Literal["rubricgrade.sources/1"] = Field(default="rubricgrade.sources/1", alias="schema")
    trajectory: Source
    rubric: Source
    vars: dict[str, JsonValue] = Field(default_factory=dict)

    def to_json(self) -> str:
        """As it is written."""
        return self.model_dump_json(by_alias=True, indent=1) + "\n"


def sources_name(rubric: Subject) -> str:
    """The file's name: one for each rubric, so that grading with another one at the same time changes nothing."""
    return rubric_stem(rubric) + ENDING


def read_sources(folder: str | os.PathLike[str]) -> Iterator[Sources]:
    """What an episode folder says about where its grades' sources lay. Links are not followed.

    Raises:
        StoreError: A file can't be read, or is none of this format.
    """
    for file in sorted(Path(folder).glob(f"*{ENDING}")):
        if file.is_symlink() or not file.is_file():
            continue
        try:
            yield Sources.model_validate_json(file.read_bytes())
        except OSError as error:
            raise StoreError(f"can't read {file}: {error.strerror or error}") from error
        except ValidationError as error:
            told = first_misfit(error)
            raise StoreError(f"{file} does not say where a grade's sources lay: {told}; delete it") from None
