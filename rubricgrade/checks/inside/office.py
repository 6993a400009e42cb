"""Text of Word and PowerPoint files, by libraries of the extra `documents`; imported only when such a file is read."""

from __future__ import annotations

import importlib
import io
import zipfile
from collections.abc import Iterator
from typing import Any

from rubricgrade.checks.inside.finding import BadArtifact
from rubricgrade.checks.inside.readers import LARGEST_UNPACKED


class NoReader(Exception):
    """What would read a file is not installed: a fault of ours, not of who wrote the file."""


def word_text(data: bytes, path: str) -> str:
    """The paragraphs of a .docx file, those in tables included."""
    mammoth = _library("mammoth")
    _check(data, path, "Word document")
    try:
        return str(mammoth.extract_raw_text(io.BytesIO(data)).value)
    except Exception as error:  # noqa: BLE001 - a hostile file can break the library in any way
        raise BadArtifact(path, f"is no Word document: {type(error).__name__}") from None


def slides_text(data: bytes, path: str) -> str:
    """The slides of a .pptx file: texts, tables and notes."""
    pptx = _library("pptx")
    _check(data, path, "presentation")
    try:
        slides: list[Any] = list(pptx.Presentation(io.BytesIO(data)).slides)
        parts = [f"[slide {number}]\n" + "\n".join(_slide(slide)) for number, slide in enumerate(slides, 1)]
    except Exception as error:  # noqa: BLE001 - a hostile file can break the library in any way
        raise BadArtifact(path, f"is no presentation: {type(error).__name__}") from None
    return "\n\n".join([f"[presentation of {len(slides)} {'slide' if len(slides) == 1 else 'slides'}]", *parts])


def _slide(slide: Any) -> Iterator[str]:
    for shape in slide.shapes:
        if shape.has_text_frame:
            yield str(shape.text_frame.text)
        elif getattr(shape, "has_table", False):
            for row in shape.table.rows:
                yield " | ".join(str(cell.text) for cell in row.cells)
    if slide.has_notes_slide:
        yield f"[notes]\n{slide.notes_slide.notes_text_frame.text}"


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise NoReader("what reads such a file is not installed: pip install 'rubricgrade[documents]'") from None


def _check(data: bytes, path: str, kind: str) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise BadArtifact(path, f"is no {kind}: {error}") from None
    if size > LARGEST_UNPACKED:
        raise BadArtifact(path, f"unpacks to {size:,} bytes, more than the {LARGEST_UNPACKED:,} that are read")
