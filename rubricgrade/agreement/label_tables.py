"""Rows of tables that hold labels: CSV, as spreadsheets write it, and Parquet (extra ``parquet``).

A spreadsheet takes a cell that begins with ``=``, ``+``, ``-`` or ``@`` for a formula and runs it, and trajectories and
notes are others' text. So such a cell is written behind an apostrophe, which is taken off again here.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, cast

from rubricgrade.errors import MissingExtraError

FORMULA = tuple("=+-@\t\r'")


def guarded(cell: str) -> str:
    """A cell as it is written."""
    return f"'{cell}" if cell.startswith(FORMULA) else cell


def unguarded(cell: str) -> str:
    """A cell as it was before `guarded`."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA) else cell


def csv_rows(data: bytes) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The rows of a CSV file with a header, each with the line that it begins in, from 1.

    Raises:
        ValueError: It is no UTF-8 text, no CSV, a row has more or fewer cells than the header, or two columns have one
            name.
    """
    reader = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
    try:
        header: list[str] | None = None
        begins = 1
        for cells in reader:
            if header is None:
                header = _once([unguarded(cell) for cell in cells])
            elif cells and len(cells) != len(header):
                raise ValueError(f"line {begins} has {len(cells)} cells, and the header {len(header)}")
            elif cells:
                yield begins, dict(zip(header, map(unguarded, cells), strict=True))
            begins = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(str(error)) from None


def parquet_rows(data: bytes) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The rows of a Parquet file, each with its number, from 1.

    Raises:
        ValueError: It is none, or two columns have one name.
        MissingExtraError: pyarrow is not installed.
    """
    try:
        parquet: Any = import_module("pyarrow.parquet")
    except ModuleNotFoundError as error:
        raise MissingExtraError("Parquet", "parquet") from error
    # What pyarrow raises for a file that is none is a ValueError, and an OSError for one that is damaged.
    try:
        rows = parquet.read_table(io.BytesIO(data)).to_pylist()
    except OSError as error:
        raise ValueError(str(error)) from None
    yield from enumerate(cast("list[dict[str, Any]]", rows), 1)


def _once(names: list[str]) -> list[str]:
    """The names of columns. Of two with one name, who reads a row would keep one cell."""
    if again := next((name for index, name in enumerate(names) if name in names[:index]), None):
        raise ValueError(f"two columns are called {again!r}")
    return names
