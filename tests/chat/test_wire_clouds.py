"""The exact request by way of clouds that sign it: Bedrock and Vertex, with a cache breakpoint where the model takes one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from rubricgrade.chat import Reply
from tests.chat.asking import SCHEMA, ask, ask_two, open_chat, question
from tests.chat.scripted import ScriptedServer, Seen
from tests.chat.test_wire import ANTHROPIC, GEMINI, wire

LAYOUT = (
    {"role": "system", "content": "You judge."},
    {"role": "user", "content": "The transcript.", "cache": True},
    {"role": "user", "content": "Is it so?"},
)
BEDROCK = {
    "output": {"message": {"role": "assistant", "content": [{"text": "yes"}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15, "cacheReadInputTokens": 80},
    "metrics": {"latencyMs": 1},
}


@pytest.mark.parametrize(
    ("model", "marked"),
    [
        ("bedrock/anthropic.claude-3-5-sonnet-20241022-v2:0", True),
        ("bedrock/converse/us.anthropic.claude-sonnet-4-20250514-v1:0", True),
        ("bedrock/meta.llama3-1-70b-instruct-v1:0", False),
    ],
)
def test_bedrock(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, model: str, *, marked: bool) -> None:
    pytest.importorskip("boto3", reason="litellm needs it to sign requests to Bedrock")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIA0000000000000000")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "0" * 40)
    server.script = [wire(BEDROCK)]
    extra = {"aws_bedrock_runtime_endpoint": server.origin, "aws_region_name": "us-east-1"}
    reply = ask(open_chat("", "auto", model=model, api_key=None, extra=extra), question(model=model, messages=LAYOUT))
    assert (reply.text, reply.usage.input_tokens, reply.usage.cached_tokens) == ("yes", 90, 80)
    seen = server.seen[-1]
    point = [{"cachePoint": {"type": "default"}}] if marked else []
    assert seen.path.endswith("/converse")
    assert seen.body["system"] == [{"text": "You judge."}]
    content = [{"text": "The transcript."}, *point, {"text": "Is it so?"}]
    assert seen.body["messages"] == [{"role": "user", "content": content}]
    assert "prompt_cache_key" not in json.dumps(seen.body)
    server.script = [
        *[wire(BEDROCK)] * len(server.seen),
        replace(wire(BEDROCK), held_for=len(server.seen) + 2),
        wire(BEDROCK),
    ]
    chat = open_chat("", "auto", model=model, api_key=None, extra=extra)
    assert [reply.text for reply in ask_two(chat, question(model=model, messages=LAYOUT))] == ["yes", "yes"]


def vertex(server: ScriptedServer, model: str, answer: Any) -> tuple[Reply, Seen]:
    """What Vertex was sent, once the server has given a token for a service account."""
    pytest.importorskip("google.auth", reason="litellm needs it to sign requests to Vertex")
    server.script = [
        lambda seen: wire({"access_token": "token-1", "expires_in": 3600} if seen.path == "/token" else answer)
    ]
    account = {
        "type": "service_account",
        "client_email": "judge@example.test",
        "private_key": private_key(),
        "token_uri": f"{server.origin}/token",
    }
    extra = {"vertex_project": "p1", "vertex_location": "us-east5", "vertex_credentials": json.dumps(account)}
    chat = open_chat(server.origin, "auto", model=model, api_key=None, extra=extra)
    return ask(chat, question(model=model, messages=LAYOUT)), server.seen[-1]


def private_key() -> str:
    key = rsa.generate_private_key(65537, 2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def test_claude_on_vertex_gets_a_breakpoint(server: ScriptedServer) -> None:
    reply, seen = vertex(server, "vertex_ai/claude-sonnet-4@20250514", ANTHROPIC)
    assert (reply.text, reply.usage.input_tokens, reply.usage.cached_tokens) == ("yes", 97, 80)
    assert (
        seen.path
        == "/v1/projects/p1/locations/us-east5/publishers/anthropic/models/claude-sonnet-4@20250514:rawPredict"
    )
    assert seen.headers["authorization"] == "Bearer token-1"
    assert seen.body["system"] == [{"type": "text", "text": "You judge."}]
    marked = {"type": "text", "text": "The transcript.", "cache_control": {"type": "ephemeral"}}
    assert seen.body["messages"] == [{"role": "user", "content": [marked, {"type": "text", "text": "Is it so?"}]}]


def test_gemini_on_vertex_gets_none(server: ScriptedServer) -> None:
    reply, seen = vertex(server, "vertex_ai/gemini-2.5-flash", GEMINI)
    assert (reply.text, reply.usage.input_tokens, reply.usage.cached_tokens) == ("yes", 100, 60)
    assert seen.body["contents"] == [{"role": "user", "parts": [{"text": "The transcript."}, {"text": "Is it so?"}]}]
    assert seen.body["generationConfig"]["response_json_schema"] == SCHEMA
    assert "cache" not in json.dumps(seen.body)
