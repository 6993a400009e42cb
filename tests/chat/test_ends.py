"""How a reply ended and of what it is made, over a real connection: only what is known to be an answer is one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rubricgrade.chat import AskFailed
from tests.chat.asking import KEY, ask, open_chat, question
from tests.chat.scripted import ScriptedServer, Wire, completion

YES = '{"answer": "yes"}'
BOTH = pytest.mark.parametrize("route", ["compatible", "litellm"])

ENDED = [
    "stop",
    "end_turn",
    "stop_sequence",
    "eos_token",
    "eos",
    "COMPLETE",
    "normal",
    "endoftext",
    "completed",
    "STOP",
    None,
    "",
]
CUT = ["length", "max_tokens", "MAX_TOKENS", "model_length", "token_limit"]
FILTERED = [
    "content_filter", "content_filtered", "guardrail_intervened", "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST",
    "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "ERROR_TOXIC", "sensitive",
]  # fmt: skip
BROKEN_OFF = [
    "error", "ERROR", "abort", "insufficient_system_resource", "network_error", "MALFORMED_FUNCTION_CALL",
    "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE", "OTHER",
    "FINISH_REASON_UNSPECIFIED", "malformed_model_output", "pause_turn", "time_limit", "cancelled", "not_finished",
    "load", "a word of tomorrow",
]  # fmt: skip


def failed(server: ScriptedServer, route: Any = "compatible") -> AskFailed:
    with pytest.raises(AskFailed) as caught:
        ask(open_chat(server.base, route))
    return caught.value


@pytest.mark.parametrize(
    ("words", "finish"), [(ENDED, "stop"), (CUT, "length"), (FILTERED, "filtered"), (["refusal"], "refused")]
)
@BOTH
def test_words_that_are_known(server: ScriptedServer, route: Any, words: list[Any], finish: str) -> None:
    chat = open_chat(server.base, route)
    server.script = [completion(YES, word) for word in words]
    assert {word: ask(chat).finish for word in words} == dict.fromkeys(words, finish)


@pytest.mark.parametrize("word", ["tool_calls", "tool-calls", "function_call", "tool_use", "TOOL_CALL"])
@BOTH
def test_an_end_in_a_call_that_is_none_is_asked_for_again(server: ScriptedServer, route: Any, word: str) -> None:
    server.script = [completion(YES, word), completion("whole")]
    reply = ask(open_chat(server.base, route))
    assert (reply.text, reply.usage.calls) == ("whole", 2)


CALL = {"name": "f", "arguments": "{}"}


@pytest.mark.parametrize(
    "fields",
    [
        {"tool_calls": [{"id": "c", "type": "function", "function": CALL}]},
        {"tool_calls": {"id": "c", "type": "function", "function": CALL}},
        {"tool_calls": "f()"},
        {"function_call": CALL},
    ],
)
@pytest.mark.parametrize("word", ["stop", "tool_calls", "function_call"])
def test_a_call_in_any_form(server: ScriptedServer, fields: dict[str, Any], word: str) -> None:
    server.script = [completion(YES, word, message=fields)]
    (call,) = ask(open_chat(server.base)).calls
    assert call.name in ("f", "")


@pytest.mark.parametrize("fields", [{"tool_calls": {}}, {"tool_calls": []}, {"function_call": None}])
def test_a_call_of_nothing_is_none(server: ScriptedServer, fields: dict[str, Any]) -> None:
    server.script = [message(**fields)]
    reply = ask(open_chat(server.base))
    assert (reply.text, reply.calls) == (YES, ())


@pytest.mark.parametrize(
    ("finish", "native", "told"),
    [
        *(("stop", word, "stop") for word in ["stop", "STOP", "end_turn", "completed", "eos", "a word of tomorrow", "", None, 7, []]),
        *(("stop", word, "length") for word in ["MAX_TOKENS", "length"]),
        *(("stop", word, "filtered") for word in ["SAFETY", "content_filter"]),
        (None, "refusal", "refused"),
        ("length", "stop", "length"),
    ],
)  # fmt: skip
def test_the_word_of_the_provider_behind_a_gateway(server: ScriptedServer, finish: Any, native: Any, told: str) -> None:
    server.script = [completion(choices=[choice(finish_reason=finish, native_finish_reason=native)])]
    assert ask(open_chat(server.base)).finish == told


def test_nor_has_a_context_that_was_full_behind_a_gateway_an_answer(server: ScriptedServer) -> None:
    server.script = [completion(choices=[choice(native_finish_reason="model_context_window_exceeded")])]
    assert failed(server).kind == "too_long"


@pytest.mark.parametrize(
    "results", [{"hate": {"filtered": True}}, {"jailbreak": {}, "custom_blocklists": [{"id": "b", "filtered": True}]}]
)
@BOTH
def test_what_a_filter_took_out_is_filtered(server: ScriptedServer, route: Any, results: dict[str, Any]) -> None:
    server.script = [completion(choices=[choice(content_filter_results=results)])]
    assert ask(open_chat(server.base, route)).finish == "filtered"


@pytest.mark.parametrize("role", ["user", "system", "tool", ["assistant"], 7])
def test_words_of_another_role_are_no_reply(server: ScriptedServer, role: Any) -> None:
    server.script = [message(role=role)]
    error = failed(server)
    assert (error.kind, "another role" in str(error)) == ("unreadable", True)


@pytest.mark.parametrize("role", ["assistant", "Assistant", "model", "", None])
def test_a_role_that_speaks_in_a_reply_or_none(server: ScriptedServer, role: Any) -> None:
    server.script = [message(role=role)]
    assert ask(open_chat(server.base)).text == YES


@BOTH
def test_a_reply_that_broke_off_is_asked_for_again(server: ScriptedServer, route: Any) -> None:
    chat = open_chat(server.base, route)
    for word in BROKEN_OFF:
        server.seen.clear()
        server.script = [completion(YES, word), completion("whole")]
        reply = ask(chat)
        assert (word, reply.text, reply.usage.calls) == (word, "whole", 2)
        assert reply.usage.input_tokens == 200, "what the first attempt took counts"


@pytest.mark.parametrize("word", [f"a word of {KEY}", "\x1b[31mred\n", "x" * 100_000, 7, True, ["stop"], {"stop": 1}])
def test_a_word_that_nobody_knows_is_named_and_no_answer(server: ScriptedServer, word: Any) -> None:
    server.script = [completion(YES, word)]
    error = failed(server)
    assert (error.kind, len(server.seen)) == ("server", 3)
    assert "no end of an answer" in str(error)
    assert len(str(error)) < 600
    assert str(error).isprintable()
    assert KEY not in str(error)


@pytest.mark.parametrize("word", ["model_context_window_exceeded", "ERROR_LIMIT"])
@BOTH
def test_a_context_that_is_full_wants_a_shorter_prompt_and_no_more_room(
    server: ScriptedServer, route: Any, word: str
) -> None:
    server.script = [completion(YES, word)]
    error = failed(server, route)
    assert (error.kind, len(server.seen), error.usage.input_tokens) == ("too_long", 1, 100)


def message(**fields: Any) -> Wire:
    return completion(YES, message=fields)


def choice(**fields: Any) -> dict[str, Any]:
    return {"index": 0, "message": {"role": "assistant", "content": YES}, "finish_reason": "stop", **fields}


def text(words: str, kind: str = "text") -> dict[str, Any]:
    return {"type": kind, "text": words}


AMBIGUOUS = {
    "two replies": completion(choices=[choice(), choice()]),
    "two that are equal but for the end": completion(choices=[choice(), choice(finish_reason="length")]),
    "choices twice": Wire(completion(YES).body.replace(b'"usage"', b'"choices": [], "usage"', 1)),
    "choices twice, once in escapes": Wire(completion(YES).body.replace(b'"usage"', b'"ch\\u006fices": [], "usage"')),
    "content twice": Wire(completion("no").body.replace(b'"content"', b'"content": "yes", "content"')),
    "finish twice": Wire(completion(YES, "error").body.replace(b'"finish_reason"', b'"finish_reason":"stop","x":1,"finish_reason"')),
    "an unknown part": message(content=[text(YES), {"type": "tool_result", "text": "no"}]),
    "a part without a kind": message(content=[{"text": YES}]),
    "a part that is no object": message(content=[YES]),
    "a text part without a text": message(content=[{"type": "text", "text": {"value": YES}}]),
    "an object for a text": message(content={"answer": "yes"}),
    "a truth for a text": message(content=True),
}  # fmt: skip


@pytest.mark.parametrize("wire", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_what_can_be_read_two_ways_is_not_read(server: ScriptedServer, wire: Wire) -> None:
    server.script = [wire]
    error = failed(server)
    assert (error.kind, len(server.seen)) == ("unreadable", 3)
    # What it took was counted, unless the body itself could not be read.
    assert (error.usage.input_tokens, error.usage.cost is None) in ((300, False), (0, True))


@pytest.mark.parametrize("kind", ["thinking", "reasoning", "redacted_thinking"])
def test_what_was_thought_is_not_what_was_said(server: ScriptedServer, kind: str) -> None:
    draft = {"type": kind, "thinking": "perhaps no"}
    server.script = [message(content=[text("perhaps no", kind), text(YES), draft, text("!", "output_text")])]
    reply = ask(open_chat(server.base))
    assert (reply.text, reply.finish, reply.reasoning) == (f"{YES}!", "stop", "perhaps noperhaps no")
    server.script = [message(content=[text(YES, kind)])]
    assert ask(open_chat(server.base)).finish == "empty"


@pytest.mark.parametrize(
    "fields",
    [
        {"content": None, "refusal": "I won't."},
        {"refusal": "I won't."},
        {"refusal": {"reason": "policy"}},
        {"refusal": True},
        {"content": [text(YES), {"type": "refusal", "refusal": "I won't."}]},
        {"content": [{"type": "refusal"}]},
    ],
)
def test_a_refusal_in_any_form(server: ScriptedServer, fields: dict[str, Any]) -> None:
    server.script = [message(**fields)]
    assert ask(open_chat(server.base)).finish == "refused"


@pytest.mark.parametrize("refusal", [None, "", " \n", False])
def test_a_refusal_that_says_nothing_is_none(server: ScriptedServer, refusal: Any) -> None:
    server.script = [message(refusal=refusal)]
    assert ask(open_chat(server.base)).finish == "stop"


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ({"code": 502, "message": "upstream died"}, "server"),
        ({"code": 429, "message": "slow down"}, "rate_limited"),
        ({"code": 401, "message": "bad key"}, "auth"),
        ("upstream died", "server"),
        ([1], "server"),
    ],
)
def test_an_error_in_a_choice_or_beside_it(server: ScriptedServer, fault: Any, kind: str) -> None:
    for wire in (completion(choices=[choice(error=fault)]), completion(YES, error=fault)):
        server.script = [wire]
        assert failed(server).kind == kind


@pytest.mark.parametrize(
    "usage", [None, {}, [], "many", {"prompt_tokens": 5}, {"prompt_tokens": 1.5, "completion_tokens": True}]
)
def test_what_was_not_counted_is_unknown(server: ScriptedServer, usage: Any) -> None:
    body = json.loads(completion(YES).body)
    server.script = [Wire(json.dumps({**body, "usage": usage}).encode())]
    reply = ask(open_chat(server.base), question())
    assert (reply.text, reply.usage.cost, reply.usage.input_tokens) == (YES, None, 0)
