"""What the ready-made checks over files may ask: one model per kind."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, StringConstraints, model_validator

from rubricgrade.rubric.base import CELL, Many, Part, Path, Pattern, Scalar, Text, short_form


class File(Part):
    """A file of the workspace."""

    path: Path

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        return short_form(value, "path")


class Exists(File):
    """A file is there (a glob is allowed), and not empty."""

    min_bytes: Annotated[int, Field(ge=0)] = 1


class Contains(File):
    """A text file contains a text."""

    text: Text
    ignore_case: bool = False


class Matches(File):
    """A text file matches a regular expression somewhere (multi-line mode)."""

    pattern: Pattern


class JsonFile(File):
    """A value in a JSON file."""

    at: Text = "$"
    equals: JsonValue = None


class CsvCell(File):
    """A cell of a CSV file: the column's name and either a row number (1 = first after the header) or a filter."""

    column: Text
    row: Annotated[int, Field(ge=1)] | None = None
    where: dict[str, Scalar] = Field(default_factory=dict)
    equals: Scalar = None


class XlsxCell(File):
    """A cell of a workbook, as its last saved value."""

    sheet: Text | None = None
    cell: Annotated[str, StringConstraints(pattern=CELL)]
    equals: Scalar = None


class SqliteQuery(File):
    """The first value of the first row of a query on a SQLite file, opened read-only."""

    query: Text
    equals: Scalar = None


class Image(File):
    """Width and height in pixels, and the format."""

    width: Annotated[int, Field(ge=1)] | None = None
    height: Annotated[int, Field(ge=1)] | None = None
    format: Literal["png", "jpeg", "gif"] | None = None


class Pdf(File):
    """Pages of a PDF, and text in it."""

    pages: Annotated[int, Field(ge=1)] | None = None
    at_least: Annotated[int, Field(ge=1)] | None = None
    at_most: Annotated[int, Field(ge=1)] | None = None
    contains: Text | None = None


class Table(File):
    """Cells of a CSV or XLSX file against a sealed CSV; value = matching cells / expected cells.

    Attributes:
        expected: The sealed CSV file.
        key: Columns that name a row.
        columns: Columns to compare. Default: all of the sealed file but the key.
        sheet: Of a workbook; the first unless named.
        extra_rows: Whether the cells of a row that is not in the sealed file count as ``wrong`` ones, which lowers the
            value, or such rows are ``allowed``.
    """

    expected: Path
    key: Many[Text]
    columns: Many[Text] = ()
    sheet: Text | None = None
    extra_rows: Literal["wrong", "allowed"] = "wrong"
