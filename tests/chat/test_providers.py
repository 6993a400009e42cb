"""Faults and endings in the words of providers other than OpenAI, by way of litellm."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rubricgrade.chat import AskFailed
from tests.chat.asking import ask, open_chat, question
from tests.chat.scripted import ScriptedServer, Wire

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
