"""Word and PowerPoint files as text for a judge. Made by the libraries that read them, so skipped where these are not."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.checks.inside import office
from rubricgrade.checks.inside.documents import document, text_of
from rubricgrade.sandbox import Provider
from tests.checks.conftest import Episode
from tests.checks.test_documents import documents

WORD = """<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">
<w:body><w:p><w:r><w:t>Travel costs</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>Sales</w:t></w:r></w:p></w:tc>
<w:tc><w:p><w:r><w:t>12.5L</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:body></w:document>"""
TYPES = """<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Override PartName="/word/document.xml"
 ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>"""
RELS = """<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
<Relationship Id="r1" Target="word/document.xml"
 Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"/></Relationships>"""


def word(body: str = WORD) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in (("[Content_Types].xml", TYPES), ("_rels/.rels", RELS), ("word/document.xml", body)):
            archive.writestr(name, text)
    return packed.getvalue()


def slides() -> bytes:
    pptx: Any = pytest.importorskip("pptx")
    made, packed = pptx.Presentation(), io.BytesIO()
    slide = made.slides.add_slide(made.slide_layouts[5])
    slide.shapes.title.text = "Q3 travel"
    table = slide.shapes.add_table(1, 2, 0, 0, 100, 100).table
    table.cell(0, 0).text, table.cell(0, 1).text = "Sales", "12.5L"
    slide.notes_slide.notes_text_frame.text = "mention Q2"
    made.save(packed)
    return packed.getvalue()


def test_a_word_document() -> None:
    pytest.importorskip("mammoth")
    text, note, _ = text_of(word(), "report.docx")
    assert [line for line in text.splitlines() if line] == ["Travel costs", "Sales", "12.5L"]
    assert note == ""


def test_slides_with_tables_and_notes() -> None:
    text, *_ = text_of(slides(), "deck.pptx")
    assert text == "[presentation of 1 slide]\n\n[slide 1]\nQ3 travel\nSales | 12.5L\n[notes]\nmention Q2"


@pytest.mark.parametrize("name", ["a.docx", "a.pptx"])
@pytest.mark.parametrize("data", [b"PK", word("<broken"), word("<w:a xmlns:w='x'/>")[:-30]])
def test_what_is_none_is_the_agents_fault(name: str, data: bytes) -> None:
    pytest.importorskip("mammoth")
    pytest.importorskip("pptx")
    text, note, whole = text_of(data, name)
    assert (text, whole) == ("", False)
    assert note.startswith("is no")


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mammoth")
    monkeypatch.setattr(office, "LARGEST_UNPACKED", 100)
    text, note, whole = text_of(word(), "a.docx")
    assert (text, whole) == ("", False)
    assert note.startswith("unpacks to")


def test_without_the_library_the_file_counts_as_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise office.NoReader(f"{name} is not installed")

    monkeypatch.setattr(office, "_library", missing)

    class Case:
        def read_bytes(self, path: str, *, world: bool) -> bytes:
            return word()

    found = document(Case(), "a.docx", world=False)  # type: ignore[arg-type]  # all that is asked of a case
    assert (found["text"], found["complete"]) == ("", False)
    assert "not installed" in found["note"]


def test_in_the_checkers_sandbox(provider: Provider, tmp_path: Path) -> None:
    (found,) = documents(provider, tmp_path, Episode({"report.docx": word()}), "*.docx")
    try:
        import mammoth  # type: ignore[import-not-found]  # noqa: F401 - an extra
    except ImportError:
        assert (found.complete, found.text) == (False, "")
        assert "rubricgrade[documents]" in found.note
    else:
        assert "Travel costs" in found.text
        assert found.complete
