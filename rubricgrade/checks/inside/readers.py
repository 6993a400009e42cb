"""Bytes of a hostile file as text, JSON, rows of a table or pages of a PDF. What can't be read is a `BadArtifact`."""

from __future__ import annotations

import csv
import io
import json
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from rubricgrade.checks.inside.finding import BadArtifact

if TYPE_CHECKING:
    from pypdf import PdfReader

MiB = 1 << 20
LARGEST_UNPACKED = 256 * MiB
MOST_CELLS = 2_000_000
MOST_PAGES = 2_000
UTF_8 = "utf-8"
UTF_16 = "utf-16"


def encoding(data: bytes) -> str:
    """The encoding that a text is read in: `UTF_16` where a byte order mark says so, else `UTF_8`."""
    return UTF_16 if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else UTF_8


def text(data: bytes, path: str) -> str:
    """Text of UTF-8 bytes, with or without a byte order mark, or of UTF-16 with one.

    Nothing is guessed or replaced: who looks for a text that must not be there could be led past it by an encoding.

    Raises:
        BadArtifact: It is in another encoding, or holds NUL.
    """
    name = encoding(data)
    try:
        found = data.decode(name).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise BadArtifact(path, f"is no {name.upper()} text: byte {error.start} can't be decoded") from None
    return plain(found, path)


def plain(found: str, path: str) -> str:
    """A decoded text as it is. Raises `BadArtifact` when it holds NUL, which no text does."""
    if "\0" in found:
        raise BadArtifact(path, f"is no text: it holds NUL (character {found.index(chr(0)) + 1})")
    return found


def json_value(data: bytes, path: str) -> Any:
    """The value of a JSON text. NaN, infinities and a key that stands twice are refused: they can be read two ways."""

    def constant(name: str) -> NoReturn:
        raise BadArtifact(path, f"has {name}, which is no JSON")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            raise BadArtifact(path, f"has the key {_twice([key for key, _ in pairs])[:80]!r} twice in one object")
        return value

    try:
        return json.loads(text(data, path), parse_constant=constant, object_pairs_hook=unique)
    except RecursionError:
        raise BadArtifact(path, "is nested too deeply") from None
    except ValueError as error:
        raise BadArtifact(path, f"is no JSON: {error}") from None


def csv_rows(data: bytes, path: str) -> list[list[str]]:
    """All rows of a CSV file as lists of texts, empty lines left out."""
    lines = io.StringIO(text(data, path), newline="")
    try:
        return [row for row in csv.reader(lines) if row]
    except csv.Error as error:
        raise BadArtifact(path, f"is no CSV: {error}") from None


def csv_records(data: bytes, path: str) -> list[dict[str, str]]:
    """The rows of a CSV file by the names in its first one; a short row is filled with empty texts.

    Raises:
        BadArtifact: It is no CSV, a column's name stands twice, or a row has more cells than the header.
    """
    return records(csv_rows(data, path), path)


def records(rows: Sequence[Sequence[Any]], path: str) -> list[dict[str, Any]]:
    """Rows by the names in the first one, which are stripped of white space."""
    if not rows:
        raise BadArtifact(path, "is empty")
    header = [str("" if name is None else name).strip() for name in rows[0]]
    while header and not header[-1]:
        header.pop()
    if len(set(header)) < len(header):
        raise BadArtifact(path, f"has the column {_twice(header)[:80]!r} twice")
    found: list[dict[str, Any]] = []
    for index, row in enumerate(rows[1:], 2):
        if any(cell not in {"", None} for cell in row[len(header) :]):
            raise BadArtifact(path, f"row {index} has more cells than the header")
        cells = [*row[: len(header)], *[""] * (len(header) - len(row))]
        found.append(dict(zip(header, cells, strict=True)))
    return found


def workbook(data: bytes, path: str) -> Any:
    """An opened workbook (openpyxl, read-only, last saved values)."""
    from openpyxl import load_workbook  # noqa: PLC0415 - only the checks that need it pay for it

    _unpacked_size(data, path)
    try:
        return load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    except MemoryError:
        raise BadArtifact(path, "needs more memory than a check has") from None
    except Exception as error:  # noqa: BLE001 - a hostile file makes openpyxl raise anything
        raise BadArtifact(path, f"is no readable workbook: {type(error).__name__}: {error}") from None


def sheet_rows(data: bytes, path: str, sheet: str | None = None) -> list[list[Any]]:
    """Rows of one sheet (the first unless named), with numbers, texts, booleans, None; dates as ISO texts."""
    book = workbook(data, path)
    names: list[str] = list(book.sheetnames)
    if not names or (sheet is not None and sheet not in names):
        raise BadArtifact(path, f"has no sheet {sheet!r}; it has {', '.join(map(repr, names[:20])) or 'none'}")
    name = names[0] if sheet is None else sheet
    try:
        return _cells(book[name], name, path)
    except BadArtifact:
        raise
    except MemoryError:
        raise BadArtifact(path, "needs more memory than a check has") from None
    except Exception as error:  # noqa: BLE001 - as above
        raise BadArtifact(path, f"sheet {name!r} can't be read: {type(error).__name__}: {error}") from None


def sheet_names(data: bytes, path: str) -> list[str]:
    """Names of a workbook's sheets in order."""
    return list(workbook(data, path).sheetnames)


def pdf_pages(data: bytes, path: str, most: int = MOST_PAGES) -> list[str]:
    """Text of each page of a PDF; a page without text is an empty one."""
    from pypdf import PdfReader  # noqa: PLC0415 - only the checks that need it pay for it

    try:
        return _texts(PdfReader(io.BytesIO(data)), path, most)
    except BadArtifact:
        raise
    except MemoryError:
        raise BadArtifact(path, "needs more memory than a check has") from None
    except Exception as error:  # noqa: BLE001 - a hostile file makes pypdf raise anything
        raise BadArtifact(path, f"is no readable PDF: {type(error).__name__}: {error}") from None


def _cells(page: Any, name: str, path: str) -> list[list[Any]]:
    if not hasattr(page, "iter_rows"):
        raise BadArtifact(path, f"sheet {name!r} holds no cells")
    # What a file claims about its own size is not believed.
    page.reset_dimensions()
    rows: list[list[Any]] = []
    cells = 0
    for row in page.iter_rows(values_only=True):
        cells += 1 + len(row)
        if cells > MOST_CELLS:
            raise BadArtifact(path, f"sheet {name!r} has more than {MOST_CELLS:,} cells")
        rows.append([_plain(cell) for cell in row])
    while rows and all(cell is None for cell in rows[-1]):
        rows.pop()
    return rows


def _texts(reader: PdfReader, path: str, most: int) -> list[str]:
    count = len(reader.pages)
    if count > most:
        raise BadArtifact(path, f"has {count:,} pages, more than the {most:,} that are read")
    return [page.extract_text() or "" for page in reader.pages]


def _unpacked_size(data: bytes, path: str) -> None:
    """Refuse a zip bomb by what its directory says; zipfile itself gives no entry more than it has claimed."""
    import zipfile  # noqa: PLC0415 - as for openpyxl

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise BadArtifact(path, f"is no workbook: {error}") from None
    if size > LARGEST_UNPACKED:
        raise BadArtifact(path, f"unpacks to {size:,} bytes, more than the {LARGEST_UNPACKED:,} that are read")


def _twice(names: Sequence[str]) -> str:
    """The first of several names, of which one stands twice, that has been there before."""
    seen: set[str] = set()
    # One pass: the agent decides how many there are.
    return next(name for name in names if name in seen or seen.add(name))


def _plain(cell: Any) -> Any:
    if cell is None or isinstance(cell, bool | int | float | str):
        return cell
    return cell.isoformat() if hasattr(cell, "isoformat") else str(cell)
