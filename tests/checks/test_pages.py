"""Pages of PDF files as pictures, drawn in the sandbox of the checker."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest

from rubricgrade import digest
from rubricgrade.checks import Bench
from rubricgrade.checks.inside.pages import LONGEST_SIDE, MOST_PAGES
from rubricgrade.evidence import Document
from rubricgrade.judge import JudgeOptions, Judging
from rubricgrade.sandbox import Provider
from tests.checks.conftest import Episode, located, rubric_of
from tests.checks.test_files import pdf
from tests.judge.scripted import Scripted, rubric, said

EXTRA = "what draws pages is not installed: pip install 'rubricgrade[documents]'"


def documents(provider: Provider, folder: Path, files: dict[str, str | bytes], **asked: Any) -> list[Document]:
    async def run() -> tuple[Document, ...]:
        async with Bench(located(Episode(files), folder), rubric_of([], {}), provider) as bench:
            return await bench.documents(["*"], **asked)

    return list(asyncio.run(run()))


def size(png: bytes) -> tuple[int, int]:
    image: Any = pytest.importorskip("PIL.Image", reason=EXTRA)
    with image.open(io.BytesIO(png)) as opened:
        assert opened.format == "PNG"
        return opened.size


def test_every_page_beside_the_text(provider: Provider, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason=EXTRA)
    found, other = documents(provider, tmp_path, {"a.pdf": pdf("First", "Second"), "b.md": "x"}, pictures=True)
    assert "[page 2]\nSecond" in found.text
    assert (len(found.pictures), found.note) == (2, "")
    assert all(LONGEST_SIDE / 3 <= max(size(picture)) <= LONGEST_SIDE for picture in found.pictures)
    assert other.pictures == ()


def test_none_unless_they_are_asked_for(provider: Provider, tmp_path: Path) -> None:
    (found,) = documents(provider, tmp_path, {"a.pdf": pdf("First")})
    assert found.pictures == ()


def test_of_a_long_file_the_first_pages(provider: Provider, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason=EXTRA)
    pages = [f"page {number}" for number in range(MOST_PAGES + 3)]
    (found,) = documents(provider, tmp_path, {"a.pdf": pdf(*pages)}, pictures=True)
    assert len(found.pictures) == MOST_PAGES
    assert found.note == f"the first {MOST_PAGES} of {MOST_PAGES + 3} pages are drawn"


@pytest.mark.parametrize("page", ["[0 0 9000000 1]", "[0 0 0 0]"])
def test_a_page_of_any_size_makes_a_small_picture_or_none(provider: Provider, tmp_path: Path, page: str) -> None:
    pytest.importorskip("pypdfium2", reason=EXTRA)
    hostile = pdf("First").replace(b"[0 0 612 792]", page.encode())
    (found,) = documents(provider, tmp_path, {"a.pdf": hostile}, pictures=True)
    assert all(max(size(picture)) <= LONGEST_SIDE for picture in found.pictures)


def test_what_can_not_be_drawn_says_so(provider: Provider, tmp_path: Path) -> None:
    (found,) = documents(provider, tmp_path, {"a.pdf": b"%PDF-1.4\nnothing"}, pictures=True)
    assert found.pictures == ()
    assert found.note


def judged(provider: Provider, folder: Path, model: str, render: str) -> tuple[Any, tuple[str, ...]]:
    """The message with the record, and what was left out."""
    asked = rubric({"description": "fits one page", "judge": {"render": render, "artifacts": ["*.pdf"]}})
    episode = located(Episode({"mis.pdf": pdf("Total 48.2 lakh", "Notes")}), folder)
    chat = Scripted([said("yes", "Total 48.2 lakh")])

    async def run() -> tuple[str, ...]:
        async with Bench(episode, asked, provider) as bench:
            judging = Judging(episode, asked, JudgeOptions(model=model), chat=chat, documents=bench.documents)
            found = await judging.decide(asked.tops[0])
            assert found.verdict == "met"
            return found.record.shown.left_out

    left_out = asyncio.run(run())
    return chat.asked[0].messages[1]["content"], left_out


def test_a_judge_that_sees_is_shown_them_and_can_quote_the_text(provider: Provider, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason=EXTRA)
    content, left_out = judged(provider, tmp_path, "openai/gpt-4o", "both")
    text, first, picture, second, _ = content
    assert "Total 48.2 lakh" in text["text"]
    assert first["text"].endswith("of page 1 of file_1, data like the rest:")
    assert second["text"].endswith("of page 2 of file_1, data like the rest:")
    assert picture["image_url"]["url"].startswith("data:image/png;base64,iVBORw0KGgo")
    assert left_out == ()


@pytest.mark.parametrize(("model", "render"), [("openai/gpt-3.5-turbo", "both"), ("openai/gpt-4o", "text")])
def test_others_read_the_text(provider: Provider, tmp_path: Path, model: str, render: str) -> None:
    content, left_out = judged(provider, tmp_path, model, render)
    assert isinstance(content, str)
    assert "Total 48.2 lakh" in content
    assert left_out == (("pictures of file_1: its text is shown",) if render == "both" else ())


def test_the_same_file_is_the_same_question_drawn_or_not(provider: Provider, tmp_path: Path) -> None:
    data = pdf("First")
    (drawn,) = documents(provider, tmp_path / "one", {"a.pdf": data}, pictures=True)
    (plain,) = documents(provider, tmp_path / "two", {"a.pdf": data})
    assert drawn.digest == plain.digest == digest.of_bytes(data)
