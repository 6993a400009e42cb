"""A run as one Parquet file (extra ``parquet``): a row per attempt, with the fields of its line.

Messages are structs and not JSON text: their shape is fixed, so that readers of data sets and chat templates take the
column as it is. Only a call's arguments are text, as they are in OpenAI's own form.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from importlib import import_module
from itertools import islice
from typing import Any

from rubricgrade.errors import MissingExtraError
from rubricgrade.runs.lines import Line

ROWS = 1000
"""Of one group: what a reader that streams holds at a time."""


def parquet_of(lines: Iterable[Line]) -> bytes:
    """The file.

    What could not be graded has null for its reward. The schema is the same for every run, also for an empty one.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    return file_of((line.model_dump(mode="json") for line in lines), schema_of(pyarrow()))


def pyarrow() -> Any:
    """The module. Raises `MissingExtraError` when it is not installed."""
    try:
        return import_module("pyarrow")
    except ModuleNotFoundError as error:
        raise MissingExtraError("Parquet", "parquet") from error


def file_of(rows: Iterable[Mapping[str, Any]], schema: Any) -> bytes:
    """Rows as a Parquet file of a schema of pyarrow's; a field that a row does not have is null."""
    parquet: Any = import_module("pyarrow.parquet")
    file = io.BytesIO()
    left = iter(rows)
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while group := list(islice(left, ROWS)):
            writer.write_table(pyarrow().Table.from_pylist(group, schema=schema))
    return file.getvalue()


def messages_type(arrow: Any) -> Any:
    """The type of a column of messages."""
    text = arrow.string()
    function = arrow.struct([("name", text), ("arguments", text)])
    call = arrow.struct([("id", text), ("type", text), ("function", function)])
    return arrow.list_(
        arrow.struct([("role", text), ("content", text), ("tool_call_id", text), ("tool_calls", arrow.list_(call))])
    )


def schema_of(arrow: Any) -> Any:
    """The file's schema; `arrow` is the module pyarrow. What is not in `nullable` is never null."""
    text, whole, real = arrow.string(), arrow.int64(), arrow.float64()
    usage = arrow.struct([("input", whole), ("output", whole), ("cost", real)])
    columns = {
        "run": text,
        "task": text,
        "sample": whole,
        "model": text,
        "reward": real,
        "passed": whole,
        "total": whole,
        "status": text,
        "cause": text,
        "end": text,
        "steps": whole,
        "usage": usage,
        "fork_ms": whole,
        "agent_ms": whole,
        "grade_ms": whole,
        "trajectory": text,
        "task_hash": text,
        "messages": messages_type(arrow),
        "judging": usage,
        "folder": text,
    }
    nullable = {"reward", "cause"}
    return arrow.schema([arrow.field(name, kind, nullable=name in nullable) for name, kind in columns.items()])
