"""Pages of PDF files as pictures, by libraries of the extra `documents`; drawn here, as a hostile file is dangerous."""

from __future__ import annotations

import base64
import importlib
import io
from typing import Any

MOST_PAGES = 10
"""Pages of one file that are drawn, from the first."""
LONGEST_SIDE = 1400
"""Pixels of a page's longer side: small print stays readable, and no page is too large for a model."""
SHARPEST = 2.0
"""Pixels for a point of the page, where it is small enough for that."""


def pdf_pictures(data: bytes) -> tuple[list[str], str]:
    """The first pages of a PDF file.

    Args:
        data: The file; hostile.

    Returns:
        Each page as base64 of a PNG, and a note on what was not drawn and why.
    """
    try:
        pdfium: Any = importlib.import_module("pypdfium2")
        importlib.import_module("PIL.Image")
    except ImportError:
        return [], "pages are not drawn: what draws them is not installed: pip install 'rubricgrade[documents]'"
    drawn: list[str] = []
    try:
        pages: Any = pdfium.PdfDocument(data)
        count = len(pages)
        for number in range(min(count, MOST_PAGES)):
            page = pages[number]
            scale = min(SHARPEST, LONGEST_SIDE / max(page.get_width(), page.get_height(), 1.0))
            file = io.BytesIO()
            page.render(scale=scale).to_pil().save(file, "PNG")
            drawn.append(base64.b64encode(file.getvalue()).decode())
    except TimeoutError:
        return drawn, f"{_pages(len(drawn))} drawn within the limits"
    except Exception as error:  # noqa: BLE001 - a hostile file can break the library in any way
        return drawn, f"{_pages(len(drawn))} drawn, then {type(error).__name__}"
    return drawn, "" if count <= MOST_PAGES else f"the first {MOST_PAGES} of {count} pages are drawn"


def _pages(count: int) -> str:
    return f"{count} {'page was' if count == 1 else 'pages were'}"
