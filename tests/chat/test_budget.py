from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricgrade.chat import Ask, AskFailed, Budget, Retry
from rubricgrade.chat.prices import price_of
from rubricgrade.chat.tokens import Tokens
from tests.chat.asking import ask, open_chat, question
from tests.chat.scripted import ScriptedServer, Wire, completion, error

CENT = {"input_cost_per_token": 1e-4, "output_cost_per_token": 0.0}
"""With the scripted 100 prompt tokens a call costs one cent."""


def test_it_stops_before_the_call_that_would_pass_the_cap(server: ScriptedServer) -> None:
    chat = open_chat(server.base, max_cost=0.025, extra=CENT)
    assert ask(chat).usage.cost == pytest.approx(0.01)
    ask(chat)
    with pytest.raises(AskFailed) as caught:
        ask(chat)
    assert (caught.value.kind, caught.value.cause) == ("budget", "budget")
    assert caught.value.usage.calls == 0
    assert "$0.025" in str(caught.value)
    assert "$0.0200 spent" in str(caught.value)
    assert len(server.seen) == 2
    assert "input_cost_per_token" not in server.seen[0].body


def test_calls_under_way_count(server: ScriptedServer) -> None:
    server.script = [replace(completion(), delay=0.1)]
    chat = open_chat(server.base, max_cost=0.03, extra={**CENT, "input_cost_per_token": 1e-4})
    long = question(messages=({"role": "user", "content": "x" * 300},))

    async def main() -> list[object]:
        return await asyncio.gather(*(chat.ask(long) for _ in range(10)), return_exceptions=True)

    outcomes = asyncio.run(main())
    assert len(server.seen) == 3
    assert sum(isinstance(outcome, AskFailed) for outcome in outcomes) == 7


@pytest.mark.parametrize("tokens", [10, 1500, 4096])
def test_a_cap_is_kept_however_many_ask_at_once_and_however_long_replies_are(
    server: ScriptedServer, tokens: int
) -> None:
    server.script = [replace(completion(usage={"completion_tokens": tokens}), delay=0.02)]
    prices = {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-5}
    chat = open_chat(server.base, max_cost=0.2, concurrency=64, extra=prices)

    async def main() -> list[Any]:
        asks = (chat.ask(question(max_tokens=4096)) for _ in range(60))
        return await asyncio.gather(*asks, return_exceptions=True)

    outcomes = asyncio.run(main())
    spent = sum(outcome.usage.cost for outcome in outcomes if not isinstance(outcome, AskFailed))
    most = 4096 * 1e-5 + 1e-4
    assert spent <= 0.2
    assert len(server.seen) == 60 or spent > 0.2 - 1.1 * most, "what was set aside and not spent is given back"


def test_an_image_is_not_counted_by_its_bytes(server: ScriptedServer) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 1_000_000}}
    messages = ({"role": "user", "content": [{"type": "text", "text": "Look."}, image]},)
    assert ask(open_chat(server.base, max_cost=1.0, extra=CENT), question(messages=messages)).text == "yes"


def test_a_budget_can_be_shared(server: ScriptedServer) -> None:
    budget = Budget(0.015)
    ask(open_chat(server.base, budget=budget, extra=CENT))
    with pytest.raises(AskFailed):
        ask(open_chat(server.base, budget=budget, extra=CENT))
    assert budget.spent == pytest.approx(0.01)


class Refusing:
    """Keepers of the limits who let nobody through."""

    async def take(self, ask: Ask) -> str:
        raise AskFailed(f"{ask.model}: others have spent it all", "budget")

    def give(self, ticket: str, cost: float | None) -> None:
        raise AssertionError("nothing was given out")


def test_what_others_refuse_is_not_waited_for(server: ScriptedServer) -> None:
    chat = open_chat(server.base, max_cost=0.025, extra=CENT, shared=Refusing())
    long = question(messages=({"role": "user", "content": "x" * 600},))

    async def main() -> None:
        for _ in range(3):
            with pytest.raises(AskFailed, match="others have spent it all"):
                await asyncio.wait_for(chat.ask(long), 60)

    asyncio.run(main())
    assert not server.seen


def test_retries_are_paid_from_the_budget_too(server: ScriptedServer) -> None:
    server.script = [Wire(b"{"), Wire(b"{"), completion()]
    with pytest.raises(AskFailed) as caught:
        ask(
            open_chat(server.base, max_cost=0.015, extra=CENT),
            question(messages=({"role": "user", "content": "x" * 400},)),
        )
    assert caught.value.kind == "budget"
    assert caught.value.usage.calls == 1
    assert len(server.seen) == 1


def test_refused_calls_cost_nothing(server: ScriptedServer) -> None:
    server.script = [error(500), error(429), completion()]
    assert ask(open_chat(server.base, max_cost=0.015, extra=CENT)).usage.cost == pytest.approx(0.01)


def test_a_cap_can_not_be_kept_for_an_unknown_price(server: ScriptedServer) -> None:
    chat = open_chat(server.base, model="hosted_vllm/mine", max_cost=5.0)
    with pytest.raises(AskFailed) as caught:
        ask(chat, question(model="hosted_vllm/mine"))
    assert caught.value.kind == "budget"
    assert "input_cost_per_token" in str(caught.value)
    assert not server.seen


def test_an_unknown_price_is_unknown(server: ScriptedServer) -> None:
    reply = ask(open_chat(server.base), question(model="hosted_vllm/mine"))
    assert reply.usage.cost is None
    assert reply.usage.input_tokens == 100


def test_a_reply_without_token_counts_has_no_known_cost(server: ScriptedServer) -> None:
    server.script = [completion(usage={"prompt_tokens": None})]
    assert ask(open_chat(server.base)).usage.cost is None


def test_cached_tokens_are_read_back_and_cheaper(server: ScriptedServer) -> None:
    server.script = [completion(usage={"prompt_tokens_details": {"cached_tokens": 80}}), completion()]
    chat = open_chat(server.base)
    cached, plain = ask(chat).usage, ask(chat).usage
    assert (cached.cached_tokens, plain.cached_tokens) == (80, 0)
    assert cached.cost is not None
    assert plain.cost is not None
    assert 0 < cached.cost < plain.cost


@pytest.mark.parametrize(
    "model", ["gpt-4o-mini", "openai/gpt-5-mini", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-pro"]
)
@pytest.mark.parametrize("tokens", [Tokens(1000, 0, 0, 50), Tokens(50_000, 40_000, 0, 100), Tokens(250_000, 0, 0, 100)])
def test_prices_agree_with_litellm(model: str, tokens: Tokens) -> None:
    from rubricgrade.chat.providers import load

    price = price_of(model, {})
    assert price is not None
    expected = load().cost_per_token(
        model=model,
        prompt_tokens=tokens.input,
        completion_tokens=tokens.output,
        cache_read_input_tokens=tokens.cached,
    )
    assert price.cost(tokens) == pytest.approx(sum(expected))


def test_what_is_not_on_the_list_has_no_price() -> None:
    assert price_of("openai/no-such-model", {}) is None
    assert price_of("hosted_vllm/gpt-4o-mini", {}) is None


def test_the_callers_price_wins() -> None:
    price = price_of("gpt-4o-mini", {"input_cost_per_token": 1.0, "output_cost_per_token": 2.0})
    assert price is not None
    assert price.cost(Tokens(3, 0, 0, 4)) == 11.0


@given(st.lists(st.floats(0.001, 1.0), max_size=30), st.floats(0.01, 5.0))
def test_equal_calls_never_pass_the_cap(costs: list[float], limit: float) -> None:
    budget, cost = Budget(limit), (costs or [0.1])[0]
    for _ in range(50):
        try:
            reserved = budget.reserve("m", 0.0 if budget.calls else cost)
        except AskFailed:
            break
        budget.settle(reserved, cost)
    assert budget.spent <= limit * (1 + 1e-6)


FEW = [{"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": 1}, {"completion_tokens": 0}]
"""Counts of which there can't be so few."""


@pytest.mark.parametrize("usage", FEW)
@pytest.mark.parametrize("end", ["stop", "masked"])
def test_a_cap_is_kept_whatever_the_server_counts(server: ScriptedServer, usage: dict[str, int], end: str) -> None:
    counts = {"prompt_tokens": 5000, "completion_tokens": 1000, **usage}
    server.script = [completion("a word " * 100, end, usage=counts)]
    prices = {"input_cost_per_token": 1e-4, "output_cost_per_token": 1e-3}
    budget = Budget(5.5)
    chat = open_chat(server.base, budget=budget, extra=prices, retry=Retry(retries=0))
    # At most 10,000 tokens of prompt and 1,000 of reply: two dollars.
    long = question(messages=({"role": "user", "content": "a b " * 7500},), max_tokens=1000)
    failed = 0
    for _ in range(5):
        try:
            assert ask(chat, long).usage.cost is None
        except AskFailed as fault:
            failed += fault.kind == "budget"
    assert (len(server.seen), failed) == (2, 3)
    assert budget.spent == pytest.approx(4.0)


def test_a_call_of_a_tool_takes_tokens(server: ScriptedServer) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "x", "arguments": "{}"}}
    server.script = [completion(None, message={"tool_calls": [call]}, usage={"completion_tokens": 0})]
    assert ask(open_chat(server.base, extra=CENT)).usage.cost is None


def test_an_empty_reply_may_take_none(server: ScriptedServer) -> None:
    server.script = [completion("", usage={"completion_tokens": 0})]
    assert ask(open_chat(server.base, extra=CENT)).usage.cost == pytest.approx(0.01)
