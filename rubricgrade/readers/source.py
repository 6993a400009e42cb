"""A file as JSON documents with their line numbers: one of a JSON file, one of each line of a JSONL file.

Faults are gathered, not raised, so that one cut line costs neither the other lines nor the report of further faults.
"""

from __future__ import annotations

import gzip
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import zstandard

from rubricgrade.errors import Fault, TrajectoryError
from rubricgrade.readers.jsontext import NotJson, parse, parse_each

ZIP_MAGIC = b"PK\x03\x04"
GZIP_MAGIC = b"\x1f\x8b"
ZSTANDARD_MAGIC = b"\x28\xb5\x2f\xfd"
MOST_BYTES = 1 << 30
RANGES_TOLD = 20
CUT = "it may have been cut while it was written"


@dataclass(frozen=True, slots=True)
class Document:
    """One JSON value of a file.

    Attributes:
        value: The value; whatever it is.
        name: What its episode is called when it has no name of its own.
        line: 1-based line in a JSONL file, 0 elsewhere.
        path: Where in a JSON file it stands, such as ``[3]``; empty for the whole file.
        file: The file it came from; None when it came from none.
        notes: What was changed while parsing.
    """

    value: Any
    name: str
    line: int = 0
    path: str = ""
    file: Path | None = None
    notes: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """Its place, for people: ``line 17``, ``[3]``, ``line 17: traces[0]`` or nothing."""
        return ": ".join(part for part in (f"line {self.line}" if self.line else "", self.path) if part)


@dataclass(slots=True)
class Source:
    """The documents of a file, and the faults of what could not be read.

    Attributes:
        file: As the caller named it.
        documents: In the order of the file.
        faults: One for each line that is not JSON.
        lines: Whether it is a JSONL file.
    """

    file: Path
    documents: list[Document] = field(default_factory=list[Document])
    faults: list[Fault] = field(default_factory=list[Fault])
    lines: bool = False

    def fault(self, message: str, *, line: int = 0, column: int = 0, code: str = "TR001") -> None:
        """Note one thing that could not be read."""
        self.faults.append(Fault(message, str(self.file), line, column, code))


def stem(file: Path) -> str:
    """The file's name without its endings; the folder's name for a ``trajectory.json``."""
    name = file.name.split(".", 1)[0] or file.name.strip(".")
    return (file.absolute().parent.name or name) if name == "trajectory" else name


def told_lines(numbers: Sequence[int]) -> str:
    """Lines for people: ``line 3``, ``lines 3, 7-9``."""
    return f"line{'s' * (len(numbers) > 1)} {told_places(numbers)}"


def told_places(numbers: Sequence[int]) -> str:
    """Places in a list for people: ``3, 7-9``; past `RANGES_TOLD` ranges it says that there are more."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    told = ", ".join(f"{first}-{last}" if last > first else str(first) for first, last in ranges[:RANGES_TOLD])
    return told + " ..." * (len(ranges) > RANGES_TOLD)


def read_bytes(file: Path) -> bytes:
    """The file's bytes; unpacked, if it was packed by gzip or Zstandard.

    Raises:
        TrajectoryError: It does not exist, can't be read or unpacked, or unpacks to more than `MOST_BYTES`.
    """
    try:
        data = file.read_bytes()
        unpacked = _unpacked(data)
    except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise TrajectoryError(Fault(f"can't be read: {reason}", str(file), code="TR005")) from None
    if len(unpacked) > MOST_BYTES and unpacked is not data:
        message = f"unpacks to more than {MOST_BYTES >> 20} MiB, which is not read"
        raise TrajectoryError(Fault(message, str(file), code="TR005"))
    return unpacked


def _unpacked(data: bytes) -> bytes:
    """The bytes, unpacked up to one more than `MOST_BYTES`."""
    if data.startswith(GZIP_MAGIC):
        with gzip.GzipFile(fileobj=BytesIO(data)) as stream:
            return stream.read(MOST_BYTES + 1)
    if data.startswith(ZSTANDARD_MAGIC):
        with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as stream:
            return stream.read(MOST_BYTES + 1)
    return data


def read_documents(file: Path, data: bytes) -> Source:
    """The JSON documents in a file's bytes: JSON, or JSONL when it is no single JSON value but its lines are."""
    source = Source(file)
    text, notes = _decoded(data)
    if not text.strip():
        source.fault("is empty; a trajectory has at least one message")
        return source
    try:
        value, changed = parse(text)
    except NotJson as error:
        if not (_read_lines(source, text, notes) or _read_values(source, text, notes)):
            source.fault(_told(error), line=error.line, column=error.column)
    else:
        source.documents.append(Document(value, stem(file), file=file, notes=notes + changed))
    return source


def _read_lines(source: Source, text: str, notes: tuple[str, ...]) -> bool:
    """Read the text as JSONL.

    Returns:
        False, with nothing read, when it is none: its first line is not JSON, and less than half of its lines are.
    """
    documents: list[Document] = []
    faults: list[tuple[str, int, int]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value, changed = parse(line)
        except NotJson as error:
            faults.append((_told(error), number, error.column))
            continue
        if not isinstance(value, dict | list):
            faults.append(("is JSON, but neither an object nor an array", number, 0))
            continue
        name = f"{stem(source.file)}-{number}"
        documents.append(Document(value, name, number, file=source.file, notes=notes + changed))
    starts_well = bool(documents) and (not faults or documents[0].line < faults[0][1])
    if not starts_well and len(documents) < max(len(faults), 1):
        return False
    source.lines = True
    source.documents = documents
    for message, number, column in faults:
        source.fault(message, line=number, column=column)
    return True


def _read_values(source: Source, text: str, notes: tuple[str, ...]) -> bool:
    """Read the text as JSON values one after the other, as exporters print them that indent.

    Returns:
        False, with nothing read, when it does not begin with at least two objects or arrays.
    """
    documents: list[Document] = []
    cut: NotJson | None = None
    try:
        for value, line, changed in parse_each(text):
            if not isinstance(value, dict | list):
                return False
            name = f"{stem(source.file)}-{line}"
            documents.append(Document(value, name, line, file=source.file, notes=notes + changed))
    except NotJson as error:
        cut = error
    if len(documents) < 2:  # noqa: PLR2004 - one with something behind it is a damaged file
        return False
    source.lines, source.documents = True, documents
    if cut is not None:
        source.fault(_told(cut), line=cut.line, column=cut.column)
    return True


def _told(error: NotJson) -> str:
    if not error.syntax:
        return error.reason
    # What is wrong from its first character on was never any.
    begun = (error.line, error.column) != (1, 1)
    return f"{error.reason}; {CUT}" if begun else "is not JSON; a trajectory is JSON, or lines of JSON"


def _decoded(data: bytes) -> tuple[str, tuple[str, ...]]:
    """The text, without its byte order mark; bytes that are no text become U+FFFD, with a note."""
    encoding = "utf-16" if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig"
    try:
        return data.decode(encoding), ()
    except UnicodeDecodeError:
        return data.decode(encoding, errors="replace"), ("bytes that are not text were replaced",)
