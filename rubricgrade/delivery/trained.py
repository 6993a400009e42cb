"""The graded trajectories of a delivery that was received: read as what others wrote, a row at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rubricgrade import digest, twice
from rubricgrade.errors import Fault, InputError
from rubricgrade.misfits import first_misfit
from rubricgrade.runs.parquet import pyarrow

Reward = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Messages = Annotated[list[dict[str, Any]], Field(min_length=1)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Row(_Record):
    """A line of ``all`` or ``best``."""

    task: str
    sample: Annotated[int, Field(ge=0)]
    model: str
    reward: Reward
    messages: Messages


class Pair(_Record):
    """A line of ``pairs``."""

    task: str
    chosen: Messages
    rejected: Messages
    chosen_reward: Reward
    rejected_reward: Reward


Kind = TypeVar("Kind", Row, Pair)


def read(file: Path, kind: type[Kind]) -> Iterator[Kind]:
    """The rows of a file.

    Raises:
        InputError: One is no such row.
        MissingExtraError: It is Parquet, and pyarrow is not installed.
    """
    number = 0
    try:
        for value in _tables(file) if file.suffix == ".parquet" else _lines(file):
            number += 1
            yield kind.model_validate(value)
    except ValidationError as error:
        raise InputError(Fault(f"row {number} can't be used: {first_misfit(error)}", file.name)) from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(Fault(f"can't be read after row {number}: {error}", file.name)) from None


def of_messages(messages: list[dict[str, Any]]) -> str:
    """A hash of messages, to find them again without keeping them."""
    return digest.of_bytes(json.dumps(messages, sort_keys=True).encode())


def _lines(file: Path) -> Iterator[Any]:
    with file.open("rb") as lines:
        for line in lines:
            # As they are written: what an agent printed may hold halves of surrogate pairs.
            yield json.loads(line.decode("utf-8", "surrogatepass"), object_pairs_hook=twice.unique)


def _tables(file: Path) -> Iterator[Any]:
    arrow = pyarrow()
    parquet = cast("Any", import_module("pyarrow.parquet"))
    try:
        for batch in parquet.ParquetFile(file).iter_batches():
            yield from batch.to_pylist()
    except arrow.ArrowException as error:
        raise ValueError(str(error)) from None
