"""litellm's HTTP clients, kept within bounds: real servers that answer without an end, or send on to another place."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from rubricgrade.chat import AskFailed, Retry
from rubricgrade.chat.bounds import PACKED_LIMIT
from rubricgrade.chat.providers import load
from tests.chat.asking import KEY, ask, ask_two, open_chat, question
from tests.chat.scripted import ScriptedServer, Wire, completion, error
from tests.chat.test_wire import ANTHROPIC, GEMINI, OLLAMA, wire

FAMILIES = {
    "openai/gpt-4o-mini": {},
    "azure/x": {"api_version": "2024-10-21"},
    "anthropic/claude-sonnet-4-5": {},
    "gemini/gemini-2.5-flash": {},
    "mistral/mistral-large-latest": {},
    "ollama_chat/llama3": {},
}
EVERY = pytest.mark.parametrize("model", FAMILIES)


@pytest.fixture
def elsewhere() -> Iterator[ScriptedServer]:
    running = ScriptedServer()
    yield running
    running.close()


def fail(server: ScriptedServer, model: str, wire: Wire) -> AskFailed:
    server.script = [wire]
    chat = open_chat(server.origin, "litellm", model=model, extra=FAMILIES[model], retry=Retry(retries=0))
    with pytest.raises(AskFailed) as caught:
        ask(chat, question(model=model, schema=None, cache_key=""))
    return caught.value


@EVERY
@pytest.mark.parametrize("status", [302, 308])
def test_nothing_is_sent_to_another_place(
    server: ScriptedServer, elsewhere: ScriptedServer, model: str, status: int
) -> None:
    away = elsewhere.origin.replace("127.0.0.1", "localhost")
    assert fail(server, model, Wire(b"", status, {"location": f"{away}/v1"})).kind in ("not_found", "unreachable")
    assert KEY in str(server.seen[0].headers)
    assert elsewhere.seen == []


def test_calls_of_litellm_that_are_not_ours_keep_its_ways(server: ScriptedServer, elsewhere: ScriptedServer) -> None:
    server.script = [Wire(b"", 308, {"location": f"{elsewhere.origin}/v1/chat/completions"})]
    elsewhere.script = [completion("here")]
    asked = {"model": "openai/gpt-4o-mini", "messages": [{"role": "user", "content": "?"}], "num_retries": 0}
    answer = asyncio.run(load().acompletion(**asked, api_base=f"{server.origin}/v1", api_key=KEY, max_retries=0))
    assert answer.choices[0].message.content == "here"


@EVERY
def test_it_is_told_when_a_reply_begins(server: ScriptedServer, model: str) -> None:
    yes = replies()[model]
    server.script = [error(500), replace(yes, held_for=3), yes]
    chat = open_chat(server.origin, "litellm", model=model, extra=FAMILIES[model])
    first, second = ask_two(chat, question(model=model, schema=None, cache_key=""))
    assert (first.text, first.usage.calls, second.text) == ("yes", 2, "yes")


def replies() -> dict[str, Wire]:
    own = {"anthropic/claude-sonnet-4-5": ANTHROPIC, "gemini/gemini-2.5-flash": GEMINI, "ollama_chat/llama3": OLLAMA}
    return {model: wire(own[model]) if model in own else completion() for model in FAMILIES}


@cache
def bomb() -> bytes:
    """A packed body that is fine, were it not for all the white space in it."""
    return gzip.compress(completion().body + b" " * (160 << 20), 6)


@EVERY
def test_an_answer_is_read_up_to_a_length_and_no_further(server: ScriptedServer, model: str) -> None:
    assert PACKED_LIMIT < len(bomb()) < 1 << 20
    for answer in (
        Wire(b"x" * 65536, endless=True),
        Wire(b"x" * 65536, 500, endless=True),
        Wire(bomb(), headers={"content-encoding": "gzip"}),
        replace(completion(), headers={"content-encoding": "br"}),
    ):
        assert fail(server, model, answer).kind in ("server", "unreachable")


def test_a_packed_answer_of_a_common_length_is_read(server: ScriptedServer) -> None:
    words = "".join(f"{number} words " for number in range(20_000))
    for encoding, pack in (("gzip", gzip.compress), ("deflate", zlib.compress)):
        server.script = [Wire(pack(completion(words).body), headers={"content-encoding": encoding})]
        chat: Any = open_chat(server.base, "litellm", model="mistral/mistral-large-latest")
        assert ask(chat, question(model="mistral/mistral-large-latest", cache_key="")).text == words
        assert server.seen[-1].headers["accept-encoding"] == "gzip, deflate"
