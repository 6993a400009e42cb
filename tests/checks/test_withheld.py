"""What an agent left and a judge is not shown in full counts as withheld; what others can read is shown."""

from __future__ import annotations

import base64
import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rubricgrade.checks.inside.documents import text_of
from rubricgrade.sandbox import Provider
from tests.checks.conftest import Episode
from tests.checks.test_documents import documents

SAID = b"this is the MARKER of the report\n"
GZIPPED = gzip.compress(SAID, mtime=0)  # names a test, which every process must collect alike
HEAD = b"From: a@x.test\nTo: b@x.test\nSubject: s\n"


def parts(kind: bytes, *inner: bytes) -> bytes:
    """A mail of several parts, each with its headers."""
    body = b"".join(b"--B\n" + part + b"\n" for part in inner)
    return HEAD + b"MIME-Version: 1.0\nContent-Type: multipart/" + kind + b"; boundary=B\n\n" + body + b"--B--\n"


def attached(data: bytes, name: bytes = b"filename=in.eml") -> bytes:
    head = b"Content-Type: application/octet-stream\nContent-Disposition: attachment; " + name + b"\n"
    return head + b"Content-Transfer-Encoding: base64\n\n" + base64.encodebytes(data)


def nested(depth: int) -> bytes:
    mail = HEAD + b"\n" + SAID
    for _ in range(depth):
        mail = parts(b"mixed", b"Content-Type: text/plain\n\nsee below\n", attached(mail))
    return mail


PLAIN = b"Content-Type: text/plain\n\nall fine\n"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("r.pdf", SAID),
        ("r.docx", SAID),
        ("r.eml", HEAD.replace(b"b@x.test", b"cfo@x.test; evil@x.test") + b"\n" + SAID),
        ("r.eml", HEAD.replace(b"b@x.test", b"cfo@x.test; MARKER@x.test") + b"\nhi\n"),
        ("r.eml", HEAD + b"Reply-To: MARKER@x.test\n\nhi\n"),
        ("r.eml", HEAD + b"X-Note: MARKER\n\nhi\n"),
        ("r.eml", HEAD + b"X-Note: =?utf-8?B?TUFSS0VS?=\n\nhi\n"),
        ("r.eml", HEAD + b"Content-Type: text/plain; charset=undefined\n\n" + SAID),
        ("r.eml", HEAD + b"Content-Type: text/plain; charset=idna\n\n" + SAID),
        ("r.eml", HEAD + b"Content-Type: text/plain; charset=cp037\n\n" + SAID),
        ("r.eml", parts(b"alternative", PLAIN, b"Content-Type: text/html\n\n<p>" + SAID + b"</p>\n")),
        ("r.eml", parts(b"related", PLAIN, b"Content-Type: text/html\n\n<p>" + SAID + b"</p>\n")),
        ("r.eml", parts(b"mixed", PLAIN, b"Content-Type: message/rfc822\n\n" + HEAD + b"\n" + SAID)),
        ("r.eml", nested(3)),
    ],
)
def test_what_others_can_read_is_shown(name: str, data: bytes) -> None:
    text, _, whole = text_of(data, name)
    assert "MARKER" in text
    assert whole


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("r.txt", b"\0" + SAID),
        ("r.txt", SAID.decode().encode("utf-16-le")),
        ("r.txt", b"\xff\xfe" + SAID + b"\n"),
        ("r.txt", "café MARKER".encode("latin-1")),
        ("r.txt.gz", GZIPPED),
        ("r.pdf", b"%PDF-1.4\n" + SAID),
        ("r.xlsx", b"PK" + SAID),
        ("r.eml", nested(4)),
        ("r.eml", HEAD + b"Content-Transfer-Encoding: base64\n\n!!MARKER!!\n" + base64.encodebytes(SAID)),
        ("r.eml", b" MARKER\n" + HEAD + b"\nhi\n"),
        ("r.eml", parts(b"mixed", PLAIN, attached(GZIPPED, b"filename=r.gz"))),
        ("r.eml", parts(b"mixed", PLAIN, attached(GZIPPED, b"filename*=utf-16be''%D8%00"))),
        ("r.eml", HEAD + b"Content-Type: text/plain; charset=latin-1\n\n" + GZIPPED),
    ],
)
def test_what_can_not_be_shown_is_not_whole_and_says_why(name: str, data: bytes) -> None:
    _, note, whole = text_of(data, name)
    assert not whole
    assert note


@pytest.mark.parametrize("name", [b"filename*=utf-16be''%D8%00", b"filename*=idna''%FF", b"filename*0*=x'y"])
def test_no_name_of_an_attachment_hides_the_mail(name: bytes) -> None:
    text, _, _ = text_of(parts(b"mixed", b"Content-Type: text/plain\n\n" + SAID, attached(b"xx", name)), "r.eml")
    assert "MARKER" in text


def fifo(workspace: Path) -> None:
    os.mkfifo(workspace / "out" / "r.txt")


def link(target: str, at: str = "out/r.txt") -> Callable[[Path], None]:
    return lambda workspace: (workspace / at).symlink_to(target)


FILES: dict[str, str | bytes] = {"out/a.txt": "fine", "data/r.txt": SAID}


@pytest.mark.parametrize(
    ("prepare", "text", "note"),
    [
        (fifo, "", "can't be taken: FIFO"),
        (link("/etc/passwd"), "", "is a symbolic link to '/etc/passwd'"),
        (link("../../r.txt"), "", "is a symbolic link to '../../r.txt'"),
        (link("r.txt"), "", "is a symbolic link to 'r.txt'"),
        (link("../data/r.txt"), SAID.decode(), "is a link to 'data/r.txt', whose content this is"),
        (link("../data"), "", "is a link to the folder 'data', whose files are not all shown"),
    ],
)
def test_what_is_no_file_is_not_absent(
    provider: Provider, tmp_path: Path, prepare: Callable[[Path], None], text: str, note: str
) -> None:
    first, second = documents(provider, tmp_path, Episode(FILES, prepare=prepare), "out/**")
    assert (first.path, first.withheld) == ("out/a.txt", False)
    assert (second.path, second.text, second.withheld) == ("out/r.txt", text, not text)
    assert second.note.startswith(note)


def test_links_on_the_way_and_links_to_what_is_shown(provider: Provider, tmp_path: Path) -> None:
    (found,) = documents(provider, tmp_path / "a", Episode(FILES, prepare=link("/srv", "sent")), "sent/*.txt")
    assert (found.path, found.withheld) == ("sent", True)
    all_of_it = documents(provider, tmp_path / "b", Episode(FILES, prepare=link("out", "latest")), "**")
    assert [(each.path, each.withheld) for each in all_of_it] == [
        ("data/r.txt", False), ("out/a.txt", False), ("latest", False)
    ]  # fmt: skip


def test_a_text_with_what_is_no_character_is_withheld(provider: Provider, tmp_path: Path) -> None:
    mail = HEAD + b"Content-Type: text/plain; charset=utf-7\n\n+2AA- all fine\n"
    (found,) = documents(provider, tmp_path, Episode({"out/1.eml": mail}), "out/*")
    assert (found.withheld, found.note) == (True, "what is no character is shown as ?")


def test_what_no_pattern_names_makes_nothing_incomplete(provider: Provider, tmp_path: Path) -> None:
    def prepare(workspace: Path) -> None:
        (workspace / "venv").mkdir()
        (workspace / "venv" / "python").symlink_to("/usr/bin/python3")
        os.mkfifo(workspace / "pipe")

    files: dict[str, str | bytes] = {"a.md": "x", "b.pyc": b"\0\1", "c.png": b"\x89PNG\0", "d.sqlite": b"\0"}
    for number, glob in enumerate(("*.md", "**/*.md")):
        (found,) = documents(provider, tmp_path / str(number), Episode(files, prepare=prepare), glob)
        assert (found.path, found.complete, found.withheld) == ("a.md", True, False)
