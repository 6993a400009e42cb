"""Workbooks with the same bytes every time: what openpyxl writes, without the time of writing."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

PLAIN = {"OPENPYXL_LXML": "False"}
"""An environment in which openpyxl writes the same bytes with and without lxml installed."""

Row = Sequence[object]
EPOCH = (2026, 1, 5, 0, 0, 0)
STAMP = re.compile(rb"(<dcterms:(created|modified)[^>]*>)[^<]*(</dcterms:\2>)")


def save_workbook(path: Path, sheets: Mapping[str, Sequence[Row]]) -> None:
    """Write a workbook of plain cells.

    Args:
        path: Where to.
        sheets: Rows by sheet name, in order.
    """
    os.environ.update(PLAIN)
    from openpyxl import Workbook  # noqa: PLC0415 - it looks at the environment when it is imported

    book = Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    book.save(path)
    settle(path)


def settle(path: Path) -> None:
    """Rewrite a workbook with fixed times, uncompressed (so that no version of zlib shows in the bytes)."""
    with zipfile.ZipFile(path) as archive:
        members = [(name, archive.read(name)) for name in sorted(archive.namelist())]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members:
            fixed = STAMP.sub(rb"\g<1>2026-01-05T00:00:00Z\g<3>", data) if name == "docProps/core.xml" else data
            archive.writestr(zipfile.ZipInfo(name, EPOCH), fixed)
