from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricgrade.chat import AskFailed, Retry
from tests.chat.asking import QUICK, ask, open_chat, question
from tests.chat.scripted import ScriptedServer, Seen, Wire, completion, error


def gaps(server: ScriptedServer) -> list[float]:
    return [later.at - earlier.at for earlier, later in zip(server.seen, server.seen[1:], strict=False)]


@pytest.mark.parametrize(
    ("model", "route"),
    [
        ("openai/gpt-4o-mini", "compatible"),
        ("openai/gpt-4o-mini", "litellm"),
        ("anthropic/claude-sonnet-4-5", "litellm"),
        ("gemini/gemini-2.5-flash", "litellm"),
        ("mistral/mistral-large-latest", "litellm"),
    ],
)
def test_never_before_retry_after_in_seconds(server: ScriptedServer, model: str, route: str) -> None:
    server.script = [error(429, headers={"retry-after": "0.4"})]
    with pytest.raises(AskFailed):
        ask(open_chat(server.base, route), question(model=model))
    assert len(server.seen) == 3
    assert min(gaps(server)) >= 0.4


def test_never_before_retry_after_as_a_date(server: ScriptedServer) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    headers = {
        "date": format_datetime(now, usegmt=True),
        "retry-after": format_datetime(now + timedelta(seconds=1), usegmt=True),
    }
    server.script = [error(503, headers=headers), completion()]
    ask(open_chat(server.base))
    assert gaps(server)[0] >= 1.0


def test_a_wait_that_is_too_long_is_not_begun(server: ScriptedServer) -> None:
    server.script = [error(429, headers={"retry-after": "86400"})]
    with pytest.raises(AskFailed) as caught:
        ask(open_chat(server.base))
    assert caught.value.kind == "rate_limited"
    assert len(server.seen) == 1


def test_no_retries_means_one_request(server: ScriptedServer) -> None:
    server.script = [error(500)]
    with pytest.raises(AskFailed):
        ask(open_chat(server.base, retry=Retry(retries=0)))
    assert len(server.seen) == 1


def test_a_waiting_retry_holds_no_slot(server: ScriptedServer) -> None:
    def answer(seen: Seen) -> Wire:
        first_try_of_one = len(server.seen) == 1
        return error(429, headers={"retry-after": "0.5"}) if first_try_of_one else completion()

    server.script = [answer]
    chat = open_chat(server.base, concurrency=1)

    async def main() -> None:
        one = asyncio.create_task(chat.ask(question(max_tokens=1)))
        await asyncio.to_thread(server.wait_for, 1)
        await chat.ask(question(max_tokens=2))
        assert not one.done()
        await one

    asyncio.run(main())
    assert [seen.body["max_tokens"] for seen in server.seen] == [1, 2, 1]


def test_what_a_retry_costs_in_time_is_bounded(server: ScriptedServer) -> None:
    server.script = [Wire(b"", hang=True)]
    with pytest.raises(AskFailed):
        ask(open_chat(server.base, retry=Retry(retries=100, first_wait=0.01, total=0.5)), question(timeout=0.3))
    assert 1 <= len(server.seen) <= 2


@given(st.integers(1, 60), st.none() | st.floats(0, 1e6))
def test_a_wait_grows_but_keeps_within_its_bounds(attempt: int, after: float | None) -> None:
    wait = QUICK.wait(attempt, after)
    assert wait >= (after or 0.0)
    assert wait - (after or 0.0) <= QUICK.longest_wait
    assert wait > 0
