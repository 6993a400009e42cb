"""Faults and endings in the words of providers other than OpenAI, by way of litellm."""

from __future__ import annotations

import gzip
import importlib
import json
from typing import Any

import pytest

from rubricgrade.chat import AskFailed, Retry
from rubricgrade.chat.faults import Fault
from rubricgrade.chat.reading import check_body
from tests.chat.asking import ask, open_chat, question
from tests.chat.scripted import ScriptedServer, Wire, completion

CLAUDE, GEMINI = "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash"


def anthropic_error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def gemini_error(message: str) -> dict[str, Any]:
    return {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}


def anthropic(stop: str, *texts: str) -> dict[str, Any]:
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [{"type": "text", "text": text} for text in texts],
        "stop_reason": stop,
        "usage": {"input_tokens": 5, "output_tokens": 1},
    }


def gemini(reason: str) -> dict[str, Any]:
    return {
        "candidates": [{"finishReason": reason, "content": {"role": "model"}}],
        "usageMetadata": {"promptTokenCount": 3, "totalTokenCount": 3},
    }


@pytest.mark.parametrize(
    ("model", "status", "value", "kind", "requests"),
    [
        (CLAUDE, 401, anthropic_error("authentication_error", "invalid x-api-key"), "auth", 1),
        (CLAUDE, 404, anthropic_error("not_found_error", "model: nope"), "not_found", 1),
        (
            CLAUDE,
            400,
            anthropic_error("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
            "too_long",
            1,
        ),
        (CLAUDE, 529, anthropic_error("overloaded_error", "Overloaded"), "server", 3),
        (CLAUDE, 429, anthropic_error("rate_limit_error", "slow down"), "rate_limited", 3),
        (GEMINI, 400, gemini_error("The input token count (2000000) exceeds the maximum (1048576)."), "too_long", 1),
        (GEMINI, 400, gemini_error("API key not valid"), "bad_request", 1),
    ],
)
def test_what_went_wrong_is_told_apart(
    server: ScriptedServer, model: str, *, status: int, value: Any, kind: str, requests: int
) -> None:
    server.script = [Wire(json.dumps(value).encode(), status)]
    with pytest.raises(AskFailed) as caught:
        ask(open_chat(server.origin, "litellm"), question(model=model))
    assert caught.value.kind == kind
    assert len(server.seen) == requests
    assert model in str(caught.value)


@pytest.mark.parametrize(
    ("model", "value", "finish", "text"),
    [
        (CLAUDE, anthropic("end_turn", "yes"), "stop", "yes"),
        (CLAUDE, anthropic("max_tokens", '{"a'), "length", '{"a'),
        (CLAUDE, anthropic("end_turn"), "empty", ""),
        (CLAUDE, anthropic("refusal"), "filtered", ""),
        (GEMINI, gemini("SAFETY"), "filtered", ""),
        (GEMINI, gemini("MAX_TOKENS"), "length", ""),
        (GEMINI, {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {}}, "filtered", ""),
    ],
)
def test_how_a_reply_ended(server: ScriptedServer, model: str, value: Any, finish: str, text: str) -> None:
    server.script = [Wire(json.dumps(value).encode())]
    reply = ask(open_chat(server.origin, "litellm"), question(model=model))
    assert (reply.finish, reply.text) == (finish, text)


@pytest.mark.parametrize("model", [CLAUDE, GEMINI, "mistral/mistral-large-latest"])
@pytest.mark.parametrize("body", [b"<html>hello", b"{}", b"[1]", b'{"id"'])
def test_nothing_untyped_leaves(server: ScriptedServer, model: str, body: bytes) -> None:
    server.script = [Wire(body)]
    with pytest.raises(AskFailed):
        ask(open_chat(server.base, "litellm"), question(model=model))
    assert 1 <= len(server.seen) <= 3


def claude_says(**changes: Any) -> bytes:
    return json.dumps({**anthropic("end_turn", "yes"), **changes}).encode()


TOLD_OTHERWISE = {
    "an unknown end": claude_says(stop_reason="masked_by_policy"),
    "content twice": claude_says().replace(b'"content"', b'"content": [{"type": "text", "text": "no"}], "content"'),
    "a stop reason twice": claude_says().replace(b'"stop_reason"', b'"stop_reason": "refusal", "stop_reason"'),
    "an unknown block": claude_says(content=[{"type": "retraction", "text": "not"}, {"type": "text", "text": "yes"}]),
    "many objects": claude_says().replace(b'"model"', b'"x": [' + b"{}," * 200_000 + b'0], "model"'),
}


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("body", TOLD_OTHERWISE.values(), ids=TOLD_OTHERWISE)
def test_what_litellm_leaves_out_is_looked_at_before(server: ScriptedServer, body: bytes, pack: Any) -> None:
    packed = {"content-encoding": "gzip"} if pack is gzip.compress else {}
    server.script = [Wire(pack(body), headers=packed)]
    chat = open_chat(server.origin, "litellm", model=CLAUDE, retry=Retry(retries=0))
    with pytest.raises(AskFailed) as caught:
        ask(chat, question(model=CLAUDE, schema=None))
    assert caught.value.kind in ("server", "unreadable")
    assert caught.value.usage.cost is None, "the model has worked"


@pytest.mark.parametrize(
    "body",
    [
        claude_says(),
        claude_says(stop_reason="stop_sequence"),
        claude_says(
            content=[{"type": "thinking", "thinking": "no", "signature": "s"}, {"type": "text", "text": "yes"}]
        ),
        claude_says(content=[{"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "yes"}]),
    ],
)
def test_what_is_known_is_read(server: ScriptedServer, body: bytes) -> None:
    server.script = [Wire(body)]
    reply = ask(open_chat(server.origin, "litellm", model=CLAUDE), question(model=CLAUDE, schema=None))
    assert (reply.text, reply.finish) == ("yes", "stop")


@pytest.mark.parametrize("model", [GEMINI, "mistral/mistral-large-latest"])
def test_a_key_twice_is_no_answer_of_any_provider(server: ScriptedServer, model: str) -> None:
    candidate = {"finishReason": "STOP", "content": {"role": "model", "parts": [{"text": "yes"}]}}
    said: dict[str, Any] = {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 3, "totalTokenCount": 3}}
    body = json.dumps(said).encode() if model == GEMINI else completion("yes").body
    server.script = [Wire(body.replace(b'"content":', b'"content": null, "content":'))]
    chat = open_chat(server.origin, "litellm", model=model, retry=Retry(retries=0))
    with pytest.raises(AskFailed, match="stands twice"):
        ask(chat, question(model=model, schema=None, cache_key=""))


def test_an_unknown_end_of_bedrock_is_none() -> None:
    with pytest.raises(Fault):
        check_body(b'{"output": {"message": {"content": [{"text": "yes"}]}}, "stopReason": "masked"}')
    check_body(b'{"output": {"message": {"content": [{"text": "yes"}]}}, "stopReason": "end_turn"}')
    check_body(b"no JSON: for litellm to judge")


def test_an_end_in_a_call_that_is_none_is_none_of_anthropic_either() -> None:
    with pytest.raises(Fault, match="calls no tool"):
        check_body(claude_says(stop_reason="tool_use"))
    called = {"type": "tool_use", "id": "t", "name": "json_tool_call", "input": {"answer": "yes"}}
    check_body(claude_says(stop_reason="tool_use", content=[called]))


@pytest.mark.parametrize("block", [{"text": "not"}, {"type": ["text"], "text": "not"}, "not", None])
def test_a_block_of_no_type_is_none(block: Any) -> None:
    with pytest.raises(Fault, match="unknown kind"):
        check_body(claude_says(content=[block, {"type": "text", "text": "yes"}]))


@pytest.mark.parametrize("model", [CLAUDE, "mistral/mistral-large-latest"])
def test_a_loop_that_ends_keeps_no_connection_of_litellms(server: ScriptedServer, model: str) -> None:
    server.script = [Wire(json.dumps(anthropic("end_turn", "yes")).encode()) if model == CLAUDE else completion("yes")]
    chat = open_chat(server.origin if model == CLAUDE else server.base, "litellm")
    kept = importlib.import_module("litellm").in_memory_llm_clients_cache.cache_dict
    before = {*kept}
    for _ in range(2):
        assert ask(chat, question(model=model)).text == "yes"
    assert {*kept} <= before
    server.wait_until_left()
