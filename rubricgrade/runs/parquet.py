"""A run as one Parquet file (extra ``parquet``): a row per attempt, with the fields of its line.

Messages are structs and not JSON text: their shape is fixed, so that readers of data sets and chat templates take the
column as it is. Only a call's arguments are text, as they are in OpenAI's own form.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
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
    try:
        arrow: Any = import_module("pyarrow")
    except ModuleNotFoundError as error:
        raise MissingExtraError("Parquet", "parquet") from error
    parquet: Any = import_module("pyarrow.parquet")
    schema = schema_of(arrow)
    file = io.BytesIO()
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        rows = (line.model_dump(mode="json") for line in lines)
        while group := list(islice(rows, ROWS)):
            writer.write_table(arrow.Table.from_pylist(group, schema=schema))
    return file.getvalue()


def schema_of(arrow: Any) -> Any:
    """The file's schema; `arrow` is the module pyarrow. What is not in `nullable` is never null."""
    text, whole, real = arrow.string(), arrow.int64(), arrow.float64()
    function = arrow.struct([("name", text), ("arguments", text)])
    call = arrow.struct([("id", text), ("type", text), ("function", function)])
    message = arrow.struct(
        [("role", text), ("content", text), ("tool_call_id", text), ("tool_calls", arrow.list_(call))]
    )
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
        "messages": arrow.list_(message),
        "judging": usage,
        "folder": text,
    }
    nullable = {"reward", "cause"}
    return arrow.schema([arrow.field(name, kind, nullable=name in nullable) for name, kind in columns.items()])
