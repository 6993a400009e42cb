"""The exact request of each provider family, as a local server saw it, and what of the reply is read back."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from rubricgrade.chat import AskFailed
from rubricgrade.chat.compatible import Compatible
from tests.chat.asking import KEY, SCHEMA, ask, open_chat, question
from tests.chat.scripted import ScriptedServer, Seen, Wire, completion, error

FORMAT = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True}}
PLAIN = [{"role": "system", "content": "You judge."}, {"role": "user", "content": "Is it so?"}]
ANTHROPIC = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "claude-served",
    "content": [{"type": "text", "text": "yes"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 80, "cache_creation_input_tokens": 7},
}
GEMINI = {
    "candidates": [{"content": {"role": "model", "parts": [{"text": "yes"}]}, "finishReason": "STOP"}],
    "usageMetadata": {
        "promptTokenCount": 100,
        "candidatesTokenCount": 5,
        "totalTokenCount": 105,
        "cachedContentTokenCount": 60,
    },
    "modelVersion": "gemini-served",
}
OLLAMA = {
    "model": "llama3",
    "created_at": "2026-01-01T00:00:00Z",
    "message": {"role": "assistant", "content": "yes"},
    "done": True,
    "done_reason": "stop",
    "prompt_eval_count": 100,
    "eval_count": 5,
}


def wire(value: Any) -> Wire:
    return Wire(json.dumps(value).encode())


def sent(server: ScriptedServer, model: str, base: str, route: str = "auto", **changes: Any) -> Seen:
    extra = changes.pop("extra", {})
    reply = ask(open_chat(base, route, model=model, extra=extra), question(model=model, **changes))
    assert reply.text == "yes"
    return server.seen[-1]


@pytest.mark.parametrize("route", ["compatible", "litellm"])
@pytest.mark.parametrize(
    ("model", "name", "own"),
    [
        ("openai/gpt-4o-mini", "gpt-4o-mini", {"prompt_cache_key": "trajectory-1"}),
        ("openai/somebodys-model", "somebodys-model", {}),
        ("hosted_vllm/org/model", "org/model", {}),
    ],
)
def test_openai_and_what_is_like_it(
    server: ScriptedServer, route: str, model: str, name: str, own: dict[str, Any]
) -> None:
    seen = sent(server, model, server.base, route)
    body = dict(seen.body)
    assert body.pop("max_tokens") == 64
    if route == "litellm" and "prompt_cache_key" not in body:
        own = {}  # the oldest litellm that is supported does not pass it on
    assert body == {"model": name, "messages": PLAIN, "response_format": FORMAT, **own}
    assert seen.path == "/v1/chat/completions"
    assert seen.headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("route", ["compatible", "litellm"])
def test_both_routes_give_the_same_reply(server: ScriptedServer, route: str) -> None:
    server.script = [
        completion(
            '{"answer": "no"}',
            message={"reasoning_content": "Because."},
            usage={"prompt_tokens": 2000, "completion_tokens": 70, "prompt_tokens_details": {"cached_tokens": 1024}},
        )
    ]
    reply = ask(open_chat(server.base, route))
    assert (reply.text, reply.finish, reply.model) == ('{"answer": "no"}', "stop", "served-model")
    assert (reply.reasoning, reply.notes) == ("Because.", ())
    usage = reply.usage
    assert (usage.calls, usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (1, 2000, 1024, 70)
    assert usage.cost == pytest.approx(976 * 1.5e-7 + 1024 * 7.5e-8 + 70 * 6e-7)


def test_anthropic_gets_a_breakpoint_and_no_key_or_temperature(server: ScriptedServer) -> None:
    server.script = [wire(ANTHROPIC)]
    messages = (
        {"role": "system", "content": "You judge."},
        {"role": "user", "content": "The transcript.", "cache": True},
        {"role": "user", "content": "Is it so?"},
    )
    seen = sent(server, "anthropic/claude-sonnet-4-5", server.origin, messages=messages)
    assert seen.path == "/v1/messages"
    assert seen.headers["x-api-key"] == KEY
    assert seen.body["system"] == [{"type": "text", "text": "You judge."}]
    marked = {"type": "text", "text": "The transcript.", "cache_control": {"type": "ephemeral"}}
    assert seen.body["messages"] == [{"role": "user", "content": [marked, {"type": "text", "text": "Is it so?"}]}]
    assert seen.body["output_format"] == {"type": "json_schema", "schema": SCHEMA}
    assert seen.body["max_tokens"] == 64
    for absent in ("temperature", "prompt_cache_key", "cache"):
        assert absent not in seen.body


def test_anthropic_never_gets_more_breakpoints_than_it_takes(server: ScriptedServer) -> None:
    server.script = [wire(ANTHROPIC)]
    messages = tuple({"role": "user", "content": f"part {n}", "cache": True} for n in range(6))
    seen = sent(server, "anthropic/claude-sonnet-4-5", server.origin, messages=messages)
    assert json.dumps(seen.body).count("cache_control") == 4
    assert "cache_control" in seen.body["messages"][0]["content"][-1]


def test_anthropic_cached_tokens_are_part_of_the_input(server: ScriptedServer) -> None:
    server.script = [wire(ANTHROPIC)]
    model = "anthropic/claude-sonnet-4-5"
    usage = ask(open_chat(server.origin, "auto"), question(model=model)).usage
    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (97, 80, 5)
    assert usage.cost == pytest.approx(10 * 3e-6 + 80 * 3e-7 + 7 * 3.75e-6 + 5 * 15e-6)


def test_gemini(server: ScriptedServer) -> None:
    server.script = [wire(GEMINI)]
    seen = sent(server, "gemini/gemini-2.5-flash", server.origin)
    assert seen.path.split("?")[0].endswith("gemini-2.5-flash:generateContent")
    assert seen.body["contents"] == [{"role": "user", "parts": [{"text": "Is it so?"}]}]
    config = seen.body["generationConfig"]
    assert config["response_json_schema"] == SCHEMA
    assert "temperature" not in config
    assert "cache" not in json.dumps(seen.body)


def test_azure(server: ScriptedServer) -> None:
    seen = sent(server, "azure/gpt-4o", server.origin, extra={"api_version": "2024-10-21"})
    assert seen.path == "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"
    assert seen.body["messages"] == PLAIN
    assert seen.body["response_format"] == FORMAT
    assert "prompt_cache_key" not in seen.body


def test_ollama(server: ScriptedServer) -> None:
    server.script = [wire(OLLAMA)]
    sent(server, "ollama_chat/llama3", server.origin)
    seen = next(seen for seen in server.seen if seen.path == "/api/chat")  # an older litellm asks for details, too
    assert seen.body["format"] == SCHEMA
    assert seen.body["options"]["num_predict"] == 64


@pytest.mark.parametrize(
    "model", ["mistral/mistral-large-latest", "deepseek/deepseek-chat", "openrouter/qwen/qwen3-32b"]
)
def test_others_get_no_mark_of_ours(server: ScriptedServer, model: str) -> None:
    seen = sent(server, model, server.base)
    assert seen.body["messages"] == PLAIN
    assert seen.body["response_format"] == FORMAT
    for absent in ("cache", "prompt_cache_key", "cache_control", "temperature"):
        assert absent not in json.dumps(seen.body)


def test_images_and_parts_pass_through(server: ScriptedServer) -> None:
    parts = [
        {"type": "text", "text": "Look."},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
    ]
    seen = sent(
        server, "openai/gpt-4o-mini", server.base, messages=({"role": "user", "content": parts, "cache": True},)
    )
    assert seen.body["messages"] == [{"role": "user", "content": parts}]


def test_what_the_caller_adds_is_sent(server: ScriptedServer) -> None:
    extra = {"reasoning_effort": "low", "extra_headers": {"x-tenant": "seven"}, "extra_body": {"top_k": 5}}
    seen = sent(server, "openai/gpt-4o-mini", server.base, extra=extra)
    assert seen.body["reasoning_effort"] == "low"
    assert seen.headers["x-tenant"] == "seven"
    assert seen.body["top_k"] == 5
    assert not {"extra_headers", "extra_body"} & set(seen.body)


def test_what_is_no_json_is_not_sent(server: ScriptedServer) -> None:
    with pytest.raises(AskFailed, match="extra settings"):
        ask(open_chat(server.base, extra={"stop": {1, 2}}))
    assert not server.seen


@pytest.mark.parametrize(
    "content", ["naïve 日本語 \U0001f600", 'quote " and \\ and \x00', "x" * (3 << 20), "lone \ud800"]
)
def test_any_text_arrives_as_it_was(server: ScriptedServer, content: str) -> None:
    for mark in (True, False):
        seen = sent(
            server, "openai/gpt-4o-mini", server.base, messages=({"role": "user", "content": content, "cache": mark},)
        )
        assert seen.body["messages"] == [{"role": "user", "content": content}]


def test_a_temperature_is_sent_when_asked_for(server: ScriptedServer) -> None:
    assert sent(server, "openai/gpt-4o-mini", server.base, temperature=0.0).body["temperature"] == 0.0


@pytest.mark.parametrize(
    ("message", "absent", "note"),
    [
        ("Unsupported value: 'temperature' does not support 0 with this model.", "temperature", "temperature"),
        ("'response_format' of type json_schema is not supported", "response_format", "JSON schema"),
        ("Unrecognized request argument supplied: prompt_cache_key", "prompt_cache_key", "cache key"),
    ],
)
def test_a_part_that_is_refused_is_left_out_with_notice(
    server: ScriptedServer, message: str, absent: str, note: str
) -> None:
    server.script = [error(400, message), completion()]
    chat = open_chat(server.base)
    first, second = ask(chat, question(temperature=0.0)), ask(chat, question(temperature=0.0))
    assert [absent in seen.body for seen in server.seen] == [True, False, False]
    assert len(server.seen) == 3
    for reply in (first, second):
        assert len(reply.notes) == 1
        assert note in reply.notes[0]
    assert (first.usage.calls, second.usage.calls) == (2, 1)


def test_the_other_name_of_max_tokens(server: ScriptedServer) -> None:
    message = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    )
    server.script = [error(400, message), completion()]
    reply = ask(open_chat(server.base, model="openai/new"), question(model="openai/new"))
    assert "max_tokens" in server.seen[0].body
    assert server.seen[1].body["max_completion_tokens"] == 64
    assert reply.notes == ()


def test_a_refusal_that_stays_ends_and_nothing_is_learned_from_it(server: ScriptedServer) -> None:
    refusal = error(400, "temperature is bad, and always will be")
    server.script = [refusal, refusal, completion()]
    chat = open_chat(server.base)
    with pytest.raises(AskFailed) as caught:
        ask(chat, question(temperature=0.0))
    assert caught.value.kind == "bad_request"
    assert len(server.seen) == 2
    assert ask(chat, question(temperature=0.0)).notes == ()
    assert server.seen[-1].body["temperature"] == 0.0


def test_openai_itself_gets_the_new_name_of_max_tokens(server: ScriptedServer) -> None:
    asyncio.run(Compatible(server.base, "gpt-5", KEY, official=True).send(question(), ()))
    assert server.seen[0].body["max_completion_tokens"] == 64
    assert "max_tokens" not in server.seen[0].body


def test_litellm_refuses_for_a_model_and_it_is_said(server: ScriptedServer) -> None:
    reply = ask(open_chat(server.base, "litellm"), question(model="openai/gpt-5-mini", temperature=0.0))
    assert reply.notes == ("the temperature was not sent: the model does not take one",)
    assert (len(server.seen), reply.usage.calls) == (1, 1)
    assert server.seen[0].body["response_format"] == FORMAT
