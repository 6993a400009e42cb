"""A server that answers one request twice: the second answer is nobody's."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.chat.asking import open_chat, question
from tests.chat.scripted import ScriptedServer, Wire, completion

MODELS = {"compatible": "openai/gpt-4o-mini", "litellm": "mistral/mistral-large-latest"}


def http(wire: Wire) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (
        len(wire.body),
        wire.body,
    )


def at_once(number: int) -> Wire:
    first = completion(f"answer {number}")
    return replace(first, body=first.body + http(completion("late")), headers={"content-length": str(len(first.body))})


def later(number: int) -> Wire:
    return replace(completion(f"answer {number}"), afterwards=http(completion("late")))


@pytest.mark.parametrize("route", ["compatible", "litellm"])
@pytest.mark.parametrize("twice", [at_once, later])
def test_a_second_answer_is_not_that_to_the_next_question(server: ScriptedServer, route: Any, twice: Any) -> None:
    server.script = [twice(number) for number in (1, 2, 3)]
    chat = open_chat(server.base, route)
    request = question(model=MODELS[route], schema=None, cache_key="")

    async def run() -> list[str]:
        found: list[str] = []
        for number in (1, 2, 3):
            found.append((await chat.ask(request)).text)
            if twice is later:
                await asyncio.to_thread(server.wait_for_unasked, number)
            await asyncio.sleep(0.01)  # what was sent on this machine is there: one look at the sockets takes it in
        return found

    assert asyncio.run(run()) == ["answer 1", "answer 2", "answer 3"]
    assert (len(server.seen), server.connections) == (3, 3), "what has had something else on it is not used again"


@pytest.mark.parametrize("route", ["compatible", "litellm"])
def test_a_connection_with_nothing_on_it_is_used_again(server: ScriptedServer, route: Any) -> None:
    chat = open_chat(server.base, route)
    request = question(model=MODELS[route], schema=None, cache_key="")

    async def run() -> None:
        for _ in range(3):
            await chat.ask(request)

    asyncio.run(run())
    assert (len(server.seen), server.connections) == (3, 1)
