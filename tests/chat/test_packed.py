"""Packed bodies: read if they are whole and of a common length, and never unpacked beyond that."""

from __future__ import annotations

import gzip
import zlib
from typing import Any

import pytest

from tests.chat.asking import ask, open_chat
from tests.chat.scripted import ScriptedServer, Wire, completion
from tests.chat.test_faults import fail


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_packed_bodies(server: ScriptedServer, encoding: str, pack: Any) -> None:
    server.script = [Wire(pack(completion("small").body), headers={"content-encoding": encoding})]
    assert ask(open_chat(server.base)).text == "small"


def test_a_body_that_unpacks_to_gigabytes_is_cut_off(server: ScriptedServer) -> None:
    server.script = [Wire(gzip.compress(b" " * (64 << 20)), headers={"content-encoding": "gzip"})]
    failed = fail(server)
    assert failed.kind == "unreadable"
    assert "MiB" in str(failed)


@pytest.mark.parametrize("behind", [b"x", gzip.compress(b" "), bytes(1 << 20)], ids=["a byte", "more of it", "zeros"])
def test_something_behind_a_packed_body(server: ScriptedServer, behind: bytes) -> None:
    body = gzip.compress(completion().body)
    server.script = [Wire(body + behind, headers={"content-encoding": "gzip"})]
    assert fail(server).kind == "unreadable"


def test_an_endless_packed_body(server: ScriptedServer) -> None:
    """The first piece is whole; what is behind it unpacks to nothing, and never ends."""
    server.script = [Wire(gzip.compress(completion().body), headers={"content-encoding": "gzip"}, endless=True)]
    failed = fail(server)
    assert (failed.kind, failed.usage.cost) == ("unreadable", None)


def test_a_packed_body_without_its_last_bytes(server: ScriptedServer) -> None:
    server.script = [Wire(gzip.compress(completion().body)[:-4], headers={"content-encoding": "gzip"})]
    assert fail(server).kind == "unreadable"


@pytest.mark.parametrize("encoding", ["gzip", "br"])
def test_a_body_that_can_not_be_unpacked(server: ScriptedServer, encoding: str) -> None:
    server.script = [Wire(completion().body, headers={"content-encoding": encoding})]
    assert fail(server).kind in ("unreadable", "unreachable")
