"""What people decided as tables: CSV and Parquet (extra ``parquet``), of the same rows as the JSON lines."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from rubricgrade.agreement import Label
from rubricgrade.agreement.label_tables import guarded
from rubricgrade.errors import MissingExtraError
from rubricgrade.review.desk import Desk
from rubricgrade.review.records import Adjudicated, Decided, Record, Revealed, Skipped, Unclear, Undone
from rubricgrade.review.redaction import redacted

Form = Literal["jsonl", "csv", "parquet"]
FORMS: tuple[Form, ...] = ("jsonl", "csv", "parquet")
TABLES: dict[str, Form] = {".csv": "csv", ".parquet": "parquet"}

Row = Mapping[str, str | float | bool | None]

LABEL = ("trajectory", "criterion", "verdict", "by", "why")
RECORD = (
    "episode", "kind", "id", "at", "by", "criterion", "verdict", "blind", "why", "cause", "evidence", "drawn",
    "probability", "draw", "imported", "grade", "undoes", "trajectory", "rubric", "question",
)  # fmt: skip
KINDS = {"blind": "bool_", "imported": "bool_", "probability": "float64"}
"""Of columns that hold no text, by pyarrow's names."""


def form_of(file: Path) -> Form:
    """What a file is to be, by its ending; JSON lines if it says nothing."""
    return TABLES.get(file.suffix, "jsonl")


def label_rows(labels: Iterable[Label]) -> Sequence[Row]:
    """Labels, a row each, as `rubricgrade.agreement.read_labels` takes them."""
    return [{name: getattr(label, name) for name in LABEL} for label in labels]


def record_rows(desk: Desk, *, redact: bool = False) -> Sequence[Row]:
    """Every act of every reviewer, a row each; what an act does not have is null.

    Args:
        desk: Whose records.
        redact: Whether to hide secrets and personal data.
    """
    rows = [
        {"episode": episode.key, **_facts(record)}
        for episode in desk.episodes.values()
        for _, records in sorted(desk.records(episode).items())
        for record in records
    ]
    if not redact:
        return rows
    return [{name: redacted(cell) if isinstance(cell, str) else cell for name, cell in row.items()} for row in rows]


def csv_of(columns: Sequence[str], rows: Iterable[Row]) -> bytes:
    """A table as CSV: a header, then a line for each row; null is an empty cell, a flag is true or false."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(row.get(name)) for name in columns] for row in rows)
    return text.getvalue().encode(errors="replace")


def parquet_of(columns: Sequence[str], rows: Sequence[Row]) -> bytes:
    """A table as Parquet, with the same schema whatever is in it.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    if not has_parquet():
        raise MissingExtraError("Parquet", "parquet")
    arrow: Any = import_module("pyarrow")
    parquet: Any = import_module("pyarrow.parquet")
    schema = arrow.schema([(name, getattr(arrow, KINDS.get(name, "string"))()) for name in columns])
    file = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist([_sayable(row) for row in rows], schema=schema), file)
    return file.getvalue()


def has_parquet() -> bool:
    """Whether what writes Parquet is installed."""
    return find_spec("pyarrow") is not None


def _facts(record: Record) -> Row:
    base = {name: getattr(record, name) for name in ("kind", "id", "at", "by", "criterion")}
    base |= {name: getattr(record, name) for name in ("trajectory", "rubric", "question")}
    match record:
        case Decided():
            drawn = record.drawn
            return base | {
                "verdict": record.verdict,
                "blind": record.blind,
                "why": record.why,
                "imported": record.imported,
                "evidence": "\n".join(each.quote for each in record.evidence),
                "drawn": drawn and drawn.reason,
                "probability": drawn and drawn.probability,
                "draw": drawn and drawn.draw,
            }
        case Adjudicated():
            return base | {"verdict": record.verdict, "cause": record.cause, "why": record.why}
        case Skipped() | Unclear():
            return base | {"why": record.why}
        case Revealed():
            return base | {"grade": record.grade}
        case Undone():
            return base | {"undoes": record.undoes}


def _cell(value: str | float | bool | None) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return guarded("" if value is None else str(value))


def _sayable(row: Row) -> dict[str, Any]:
    """Without halves of characters, which UTF-8 can't say."""
    return {
        name: cell.encode(errors="replace").decode() if isinstance(cell, str) else cell for name, cell in row.items()
    }
