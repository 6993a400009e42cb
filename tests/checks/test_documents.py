"""The text of files for a judge, extracted where a hostile file can do no harm; and the items of a `for_each`."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from rubricgrade import digest
from rubricgrade.checks import Bench, ItemsFault
from rubricgrade.evidence import Document
from rubricgrade.sandbox import Provider
from tests.checks.conftest import Episode, located, rubric_of
from tests.checks.test_files import pdf
from tests.checks.test_mail import eml
from tests.checks.test_readers import workbook


def documents(
    provider: Provider, folder: Path, episode: Episode, *globs: str, world: tuple[str, ...] = ()
) -> list[Document]:
    async def run() -> tuple[Document, ...]:
        async with Bench(located(episode, folder), rubric_of([], {}), provider) as bench:
            return await bench.documents(globs, world=world)

    return list(asyncio.run(run()))


def test_every_format_as_text(provider: Provider, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.md": b"\xef\xbb\xbf# T\xc3\xaft\xff\n", "t.csv": "a,b\n1,2\n", "b.xlsx": workbook(("n", "x"), (1, None), sheet="Q3"),
        "p.pdf": pdf("First", "Second"), "z.bin": b"\0\1\2", "sub/c.json": "{}", "u.txt": "wide\n".encode("utf-16"),
    }  # fmt: skip
    world = {"outbox/1.eml": eml("cfo@acme.test", attachment="mis.csv")}
    found = documents(provider, tmp_path, Episode(files, world), "*", "**/*.json", world=("outbox/*.eml",))
    texts = {document.path: document for document in found}
    assert list(texts) == ["a.md", "b.xlsx", "p.pdf", "t.csv", "u.txt", "z.bin", "sub/c.json", "outbox/1.eml"]
    assert texts["a.md"].text == "# Tït\ufffd\n"
    assert texts["a.md"].note == "is no UTF-8 text: byte 9 can't be decoded; what can't be decoded is shown as U+FFFD"
    assert texts["u.txt"].text == "wide\n"
    assert texts["t.csv"].text == "a,b\n1,2\n"
    assert texts["b.xlsx"].text == "[sheet Q3]\nn | x\n1"
    assert texts["p.pdf"].text == "[PDF of 2 pages]\n\n[page 1]\nFirst\n\n[page 2]\nSecond"
    assert (texts["z.bin"].text, texts["z.bin"].note) == ("", "3 bytes that are no text")
    assert texts["outbox/1.eml"].text == (
        "From: agent@acme.test\nTo: cfo@acme.test\nSubject: Q3 MIS\n\nTotal 48.2\n\n\n[attachment mis.csv, 4 bytes]\n\na,b\n"
    )
    assert texts["outbox/1.eml"].world
    assert not texts["a.md"].world
    assert texts["t.csv"].digest == digest.of_bytes(b"a,b\n1,2\n")
    assert {document.path for document in found if document.withheld} == {"a.md", "z.bin"}
    assert {document.path for document in found if not document.complete} == {"a.md", "z.bin"}


def test_hostile_files_are_notes_and_the_rest_is_read(provider: Provider, tmp_path: Path) -> None:
    def prepare(workspace: Path) -> None:
        (workspace / "link.md").symlink_to("/etc/passwd")
        with (workspace / "sparse.md").open("wb") as file:
            file.truncate(10 << 30)

    bomb = b"%PDF-1.4\n" + b"[" * 200_000
    files: dict[str, str | bytes] = {
        "a.md": "first",
        "b.xlsx": b"PK",
        "c.pdf": bomb,
        "d.md": "x" * 4_000_001,
        "e.md": "last",
    }
    found = {
        document.path: document for document in documents(provider, tmp_path, Episode(files, prepare=prepare), "*")
    }
    assert found["a.md"].text == "first"
    assert found["e.md"].text == "last"
    assert found["b.xlsx"].text == found["c.pdf"].text == ""
    assert "is no workbook" in found["b.xlsx"].note
    assert found["c.pdf"].note
    assert (len(found["d.md"].text), found["d.md"].complete) == (4_000_000, False)
    assert found["sparse.md"].note
    assert {name for name, document in found.items() if document.withheld} == {*found} - {"a.md", "e.md"}
    assert found["link.md"].note == "is a symbolic link to '/etc/passwd'; links are not followed"


def test_a_file_of_any_name_is_read_once(provider: Provider, tmp_path: Path) -> None:
    def prepare(workspace: Path) -> None:
        Path(os.fsdecode(bytes(workspace) + b"/\xff.md")).write_text("second")

    found = documents(provider, tmp_path, Episode({"a.md": "first"}, prepare=prepare), "*", "*.md")
    assert [(document.path, document.text) for document in found] == [("a.md", "first"), ("?.md", "second")]


def test_no_time_is_taken_beyond_that_of_all(
    provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rubricgrade.checks.bench.DOCUMENTS_SECONDS", 0.0)
    found = documents(provider, tmp_path, Episode({"a.md": "x", "b.md": "y"}), "*")
    assert [(document.path, document.text) for document in found] == [("a.md", ""), ("b.md", "")]
    assert all("have taken all the time" in document.note and document.withheld for document in found)


def test_of_all_files_together_so_much_is_read_and_no_more(
    provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rubricgrade.checks.bench.DOCUMENTS_CHARACTERS", 5)
    found = documents(provider, tmp_path, Episode({"a.md": "123", "b.md": "456", "c.md": "7", "d.md": ""}), "*")
    assert [(document.text, document.withheld) for document in found] == [
        ("123", False), ("45", True), ("", True), ("", False)
    ]  # fmt: skip


def test_more_files_than_are_read_are_named(provider: Provider, tmp_path: Path) -> None:
    found = documents(provider, tmp_path, Episode({f"{number:03}.md": "x" for number in range(203)}), "*.md")
    assert [document.note for document in found[:200]] == [""] * 200
    assert [(document.path, document.note, document.withheld) for document in found[200:]] == [
        ("200.md", "not read, like all that follow: 203 files match, and 200 are read", True)
    ]


def test_folders_that_are_not_taken_keep_nothing_from_being_read(provider: Provider, tmp_path: Path) -> None:
    def prepare(workspace: Path) -> None:
        (workspace / "/".join("d" * 120)).mkdir(parents=True)

    episode = Episode({"a.md": "first"}, prepare=prepare)
    found = documents(provider, tmp_path / "a", episode, "**/*.md")
    assert [(document.text, document.withheld) for document in found] == [("first", False), ("", True)]
    assert "deeper than" in found[1].note
    assert [document.withheld for document in documents(provider, tmp_path / "b", episode, "*.md")] == [False]


def test_nothing_matches_or_nothing_is_there(provider: Provider, tmp_path: Path) -> None:
    assert documents(provider, tmp_path / "a", Episode({"a.md": "x"}), "*.pdf") == []
    assert documents(provider, tmp_path / "b", Episode(files=None), "*.md", world=("*",)) == []


def items(provider: Provider, folder: Path, body: str, files: dict[str, str] | None = None) -> tuple[str, ...]:
    sealed = {"i.py": f"def items(case):\n    {body}\n"}

    async def run() -> tuple[str, ...]:
        async with Bench(located(Episode(files or {}), folder), rubric_of([], sealed), provider) as bench:
            return await bench.items("i.py:items")

    return asyncio.run(run())


def test_items_of_an_authors_function(provider: Provider, tmp_path: Path) -> None:
    body = "return [row['name'] for row in case.read_csv('t.csv')]"
    assert items(provider, tmp_path, body, {"t.csv": "name\na\nb\n"}) == ("a", "b")


@pytest.mark.parametrize(
    ("body", "fault", "cause"),
    [
        ("return case.read_csv('none.csv')", "agent", None),
        ("return [1]", "grader", "check_error"),
        ("return 'text'", "grader", "check_error"),
        ("return ['  ']", "grader", "check_error"),
        ("return undefined", "grader", "check_error"),
    ],
)
def test_items_that_can_not_be_listed(provider: Provider, tmp_path: Path, body: str, fault: str, cause: Any) -> None:
    with pytest.raises(ItemsFault) as caught:
        items(provider, tmp_path, body)
    assert (caught.value.fault, caught.value.cause) == (fault, cause)
