"""A model that has never answered is not waited for by every ask; one that has answered is."""

from __future__ import annotations

import asyncio

import pytest

from rubricgrade.chat import silence
from rubricgrade.chat.contract import AskFailed, Chat
from rubricgrade.chat.silence import ENOUGH
from tests.chat.asking import open_chat, question
from tests.chat.scripted import ScriptedServer, completion, error


def ask_times(chat: Chat, number: int) -> list[str]:
    """What came of so many asks, one behind the other: the words of failures, empty for answers."""

    async def main() -> list[str]:
        found: list[str] = []
        for _ in range(number):
            try:
                await chat.ask(question())
            except AskFailed as failure:
                found.append(str(failure))
            else:
                found.append("")
        return found

    return asyncio.run(main())


@pytest.mark.parametrize("route", ["compatible", "litellm"])
def test_who_has_never_answered_is_asked_a_few_times_and_then_now_and_again(
    server: ScriptedServer, route: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.script = [error(401, "no such key")]
    chat = open_chat(server.base, route)
    told = ask_times(chat, ENOUGH + 20)
    assert len(server.seen) == ENOUGH
    assert all("no such key" in words and "Check the API key" in words for words in told)
    assert f"{ENOUGH} asks before have failed" in told[-1]
    server.script = [completion()]
    assert all(ask_times(chat, 3)), "it is not yet time"
    monkeypatch.setattr(silence, "monotonic", lambda: 1e12)
    assert not any(ask_times(chat, 3))


def test_who_has_answered_once_is_always_asked(server: ScriptedServer) -> None:
    server.script = [completion(), *[error(401)] * 30, completion()]
    told = ask_times(open_chat(server.base), 32)
    assert (len(server.seen), told[0], told[-1]) == (32, "", "")


def test_a_server_with_troubles_is_there(server: ScriptedServer) -> None:
    server.script = [error(500)]
    ask_times(open_chat(server.base), ENOUGH + 4)
    assert len(server.seen) == 3 * (ENOUGH + 4)
