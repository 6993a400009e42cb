"""Every way in which a server can fail, over a real connection, by both routes: a typed outcome and never a hang."""

from __future__ import annotations

import asyncio
import json
import pickle
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricgrade.chat import AskFailed
from rubricgrade.chat.compatible import BODY_LIMIT
from rubricgrade.chat.faults import Fault, from_status, retry_after, shown
from rubricgrade.chat.reading import read_body
from rubricgrade.chat.tokens import Tokens
from rubricgrade.errors import JudgeError
from tests.chat.asking import KEY, ask, open_chat, question
from tests.chat.scripted import ScriptedServer, Wire, completion, error

BOTH = pytest.mark.parametrize("route", ["compatible", "litellm"])


def fail(server: ScriptedServer, route: str = "compatible", **changes: Any) -> AskFailed:
    with pytest.raises(AskFailed) as caught:
        ask(open_chat(server.base, route), question(**changes))
    assert isinstance(caught.value, JudgeError)
    return caught.value


@BOTH
@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "bad_request"), (401, "auth"), (403, "auth"), (404, "not_found"), (422, "bad_request")],
)
def test_a_permanent_refusal_is_asked_once_and_named(
    server: ScriptedServer, route: str, status: int, kind: str
) -> None:
    server.script = [error(status, "not like this")]
    failed = fail(server, route)
    assert failed.kind == kind
    assert failed.cause == "judge_failed"
    assert len(server.seen) == 1
    assert failed.usage.calls == 1
    assert failed.usage.cost == 0.0
    for needed in ("openai/gpt-4o-mini", str(server.port), "not like this"):
        assert needed in str(failed)


@BOTH
@pytest.mark.parametrize(
    ("status", "kind"), [(429, "rate_limited"), (500, "server"), (502, "server"), (503, "server"), (529, "server")]
)
def test_two_retries_make_three_requests(server: ScriptedServer, route: str, status: int, kind: str) -> None:
    server.script = [error(status)]
    failed = fail(server, route)
    assert failed.kind == kind
    assert len(server.seen) == 3
    assert failed.usage.calls == 3
    assert "3 attempts" in str(failed)


@pytest.mark.parametrize("status", [201, 202, 203, 204, 206, 226])
def test_a_success_that_is_no_whole_reply_is_called_that(server: ScriptedServer, status: int) -> None:
    server.script = [Wire(b"" if status == 204 else completion("yes").body[:40], status)]
    failed = fail(server)
    assert (failed.kind, len(server.seen)) == ("unreadable", 3)
    assert f"a success that is no whole reply: HTTP {status}" in str(failed)
    assert "refused" not in str(failed)


QUICK_ANSWERS = [
    "Rate limit reached (RPM): Limit 3. Please try again in 20s. You can pay at https://platform.openai.com/billing.",
    "You exceeded your current quota, please check your plan and billing details. Please retry in 20.0s.",
    "You exceeded your current quota, please check your plan and billing details. Please try again in 0m20s.",
    'Quota exceeded; see billing. {"@type": "RetryInfo", "retryDelay": "20s"}',
    "Too many requests per minute. Retry after 20000ms",
]


@pytest.mark.parametrize("text", QUICK_ANSWERS)
def test_who_is_too_quick_is_told_when_to_come_back(text: str) -> None:
    fault = from_status(429, text, {})
    assert (fault.kind, fault.after) == ("rate_limited", 20.0)
    assert from_status(429, text, {"retry-after": "3"}).after == 3.0


@pytest.mark.parametrize(
    "text",
    [
        '{"error": {"code": "insufficient_quota", "message": "You exceeded your current quota; try again in 1s"}}',
        "You exceeded your current quota, please check your plan and billing details.",
        "Your credit balance is too low",
    ],
)
def test_who_has_not_paid_is_not_asked_to_wait(text: str) -> None:
    assert from_status(429, text, {}).kind == "auth"


@BOTH
def test_a_transient_fault_is_survived_and_counted(server: ScriptedServer, route: str) -> None:
    server.script = [error(500), error(429), completion("fine")]
    reply = ask(open_chat(server.base, route))
    assert reply.text == "fine"
    assert reply.usage.calls == 3
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (100, 10)


@BOTH
def test_nothing_listens(route: str) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        with pytest.raises(AskFailed) as caught:
            ask(open_chat(base, route))
    assert caught.value.kind in ("unreachable", "server")
    assert base in str(caught.value)
    assert caught.value.usage.calls == 3


@BOTH
def test_no_answer_in_time(server: ScriptedServer, route: str) -> None:
    server.script = [Wire(b"", hang=True)]
    failed = fail(server, route, timeout=0.3)
    assert failed.kind == "timeout"
    assert "0.3 s" in str(failed) or "0.3" in str(failed)
    assert failed.usage.cost is None, "a model may have worked on it: what it cost is not known"


def test_an_answer_that_drips_for_ever_ends_at_the_timeout(server: ScriptedServer) -> None:
    server.script = [Wire(b'{"choices": [', headers={"content-length": "1000000"})]
    assert fail(server, timeout=0.3).kind == "timeout"


@BOTH
@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 200000 tokens.",
        "the request exceeds the available context size (4096 tokens), try increasing it",
        "prompt is too long: 210000 tokens > 200000 maximum",
    ],
)
def test_a_prompt_that_does_not_fit(server: ScriptedServer, route: str, message: str) -> None:
    server.script = [error(400, message, code="context_length_exceeded")]
    assert fail(server, route).kind == "too_long"
    assert len(server.seen) == 1


@BOTH
def test_a_filtered_prompt_is_a_reply(server: ScriptedServer, route: str) -> None:
    message = "The response was filtered due to the prompt triggering the content management policy."
    server.script = [error(400, message, code="content_filter")]
    reply = ask(open_chat(server.base, route))
    assert (reply.finish, reply.text) == ("filtered", "")
    assert "content management policy" in reply.notes[0]


@BOTH
@pytest.mark.parametrize(
    ("wire", "finish", "text"),
    [
        (completion(None), "empty", ""),
        (completion("  \n"), "empty", "  \n"),
        (completion('{"answer": "ye', "length"), "length", '{"answer": "ye'),
        (completion("", "length", message={"reasoning_content": "hm"}), "length", ""),
        (completion(None, message={"refusal": "I will not."}), "refused", "I will not."),
        (completion('{"answer": "yes"}', message={"refusal": "I will not."}), "refused", '{"answer": "yes"}'),
        (completion("", "content_filter"), "filtered", ""),
    ],
)
def test_how_a_reply_can_end(server: ScriptedServer, route: str, wire: Wire, finish: str, text: str) -> None:
    server.script = [wire]
    reply = ask(open_chat(server.base, route))
    assert (reply.finish, reply.text) == (finish, text)
    assert len(server.seen) == 1


@BOTH
def test_no_choices(server: ScriptedServer, route: str) -> None:
    server.script = [completion(choices=[])]
    assert ask(open_chat(server.base, route)).finish == "empty"


@BOTH
def test_reasoning_is_kept_apart(server: ScriptedServer, route: str) -> None:
    server.script = [completion("yes", message={"reasoning_content": "Because."})]
    reply = ask(open_chat(server.base, route))
    assert (reply.text, reply.reasoning) == ("yes", "Because.")


def test_text_in_parts(server: ScriptedServer) -> None:
    server.script = [
        completion(message={"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "a"}]})
    ]
    assert ask(open_chat(server.base)).text == "a"


def test_a_web_page_is_no_model(server: ScriptedServer) -> None:
    server.script = [Wire(b"<!DOCTYPE html><p>Welcome", headers={"content-type": "text/html"})]
    failed = fail(server)
    assert failed.kind == "not_found"
    assert "web page" in str(failed)
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "body", [b"", b'{"id": "x", "choi', b"[1, 2]", b"null", b"\xff\xfe", b"[" * 100_000, b"1" * 9999]
)
def test_what_is_no_completion_is_asked_again_and_then_reported(server: ScriptedServer, body: bytes) -> None:
    server.script = [Wire(body)]
    failed = fail(server)
    assert failed.kind == "unreadable"
    assert len(server.seen) == 3
    assert failed.usage.cost is None


@BOTH
def test_an_unreadable_body_by_either_route(server: ScriptedServer, route: str) -> None:
    server.script = [Wire(b'{"id": "x", "choi')]
    failed = fail(server, route)
    assert failed.kind in ("unreadable", "server", "unreachable", "bad_request")


@pytest.mark.parametrize(
    ("fields", "kind", "requests"),
    [
        ({"code": 401, "message": "bad key"}, "auth", 1),
        ({"code": 429, "message": "slow down"}, "rate_limited", 3),
        ({"message": "Rate limit reached"}, "rate_limited", 3),
        ({"message": "something broke"}, "server", 3),
        ({"code": "context_length_exceeded", "message": "maximum context length"}, "too_long", 1),
    ],
)
def test_an_error_object_under_status_200(
    server: ScriptedServer, fields: dict[str, Any], kind: str, requests: int
) -> None:
    server.script = [Wire(json.dumps({"error": fields}).encode())]
    assert fail(server).kind == kind
    assert len(server.seen) == requests


def test_a_provider_that_breaks_off(server: ScriptedServer) -> None:
    server.script = [completion("ha", "error"), completion("half no more")]
    assert ask(open_chat(server.base)).text == "half no more"


@pytest.mark.parametrize("cut", [0, 20])
def test_a_connection_that_is_reset(server: ScriptedServer, cut: int) -> None:
    server.script = [Wire(completion().body, reset_after=cut), completion("whole")]
    reply = ask(open_chat(server.base))
    assert reply.text == "whole"
    assert reply.usage.calls == 2
    assert reply.usage.cost is None


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: minus one\r\n\r\n{}",
        b"HTTP/1.1 999999 ?\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"x-%d: %s\r\n" % (n, b"y" * 4000) for n in range(50)) + b"\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nZZZ\r\n",
        b"\x00" * 1000,
    ],
)
def test_what_is_no_http(server: ScriptedServer, raw: bytes) -> None:
    server.script = [Wire(raw, raw=True), completion()]
    reply = ask(open_chat(server.base))
    assert (reply.text, reply.usage.calls) == ("yes", 2)


def test_an_endless_body_is_cut_off(server: ScriptedServer) -> None:
    server.script = [Wire(b" " * 65536, endless=True)]
    failed = fail(server)
    assert failed.kind == "unreadable"
    assert f"{BODY_LIMIT >> 20} MiB" in str(failed)


def test_a_redirect_is_not_followed(server: ScriptedServer) -> None:
    server.script = [Wire(b"", 307, {"location": f"{server.origin}/elsewhere"})]
    assert fail(server).kind == "not_found"
    assert len(server.seen) == 1


def test_an_empty_purse_is_not_a_busy_server(server: ScriptedServer) -> None:
    server.script = [error(429, "You exceeded your current quota", code="insufficient_quota")]
    assert fail(server).kind == "auth"
    assert len(server.seen) == 1


@BOTH
def test_a_key_is_never_in_an_error(server: ScriptedServer, route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_API_KEY", "wholly-other-secret")
    server.script = [
        error(401, f"Incorrect API key provided: {KEY}, or sk-abc****xyz9, or wholly-other-secret\x1b[31m")
    ]
    failed = fail(server, route)
    for secret in (KEY, "xyz9", "wholly-other-secret", "\x1b"):
        assert secret not in str(failed)
    assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_password_in_the_base_is_never_in_an_error(server: ScriptedServer) -> None:
    server.script = [error(400)]
    base = server.base.replace("http://", "http://user:hunter2@")
    with pytest.raises(AskFailed) as caught:
        ask(open_chat(base, api_key=None))
    assert "hunter2" not in str(caught.value)


def test_an_error_survives_a_process_pool() -> None:
    failed = AskFailed("no", "too_long")
    again = pickle.loads(pickle.dumps(failed))
    assert (str(again), again.kind, again.cause, again.usage) == ("no", "too_long", "judge_failed", failed.usage)


def test_a_cancelled_ask_is_cancelled(server: ScriptedServer) -> None:
    server.script = [Wire(b"", hang=True)]
    chat = open_chat(server.base)

    async def main() -> None:
        asking = asyncio.create_task(chat.ask(question()))
        await asyncio.to_thread(server.wait_for, 1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(main())


@given(st.binary(max_size=200))
def test_noise_is_a_fault(body: bytes) -> None:
    with pytest.raises(Fault) as caught:
        read_body(body)
    assert caught.value.kind in ("unreadable", "not_found")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["choices", "message", "content", "finish_reason", "usage", "prompt_tokens", "error", "code", "text", "model"]
    ), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(anything)
def test_no_json_brings_anything_but_an_answer_or_a_fault(value: Any) -> None:
    try:
        answer = read_body(json.dumps(value).encode())
    except Fault:
        return
    answer.text.encode()
    answer.model.encode()
    assert answer.tokens is None or answer.tokens.input >= 0


@given(
    st.integers(300, 599), st.text(max_size=100), st.dictionaries(st.sampled_from(["retry-after", "date"]), st.text())
)
def test_no_error_answer_brings_anything_but_a_fault(status: int, text: str, headers: dict[str, str]) -> None:
    fault = from_status(status, text, headers)
    assert fault.after is None or fault.after >= 0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "20"}, 20.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:27:30 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_both_forms_of_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_a_long_error_text_is_cut() -> None:
    assert len(shown("x " * 10_000)) == 300


@pytest.mark.parametrize(
    "usage",
    [
        None,
        [],
        {"prompt_tokens": "5", "completion_tokens": 1},
        {"prompt_tokens": 5},
        {"prompt_tokens": 5, "completion_tokens": "7"},
        {"prompt_tokens": 5, "completion_tokens": -7},
        {"prompt_tokens": -5, "completion_tokens": 7},
        {"prompt_tokens": 5, "completion_tokens": 10**12},
        {"prompt_tokens": 10**9, "completion_tokens": 1},
        {"prompt_tokens": 5.5, "completion_tokens": True},
    ],
)
def test_a_count_that_is_none_makes_the_cost_unknown_and_not_less(usage: Any) -> None:
    assert read_body(json.dumps({"choices": [{"message": {"content": "x"}}], "usage": usage}).encode()).tokens is None


def test_no_more_can_be_cached_than_was_read() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 1, "cache_read_input_tokens": 9, "cache_creation_input_tokens": 9}
    body = json.dumps({"choices": [{"message": {"content": "x"}}], "usage": usage}).encode()
    assert read_body(body).tokens == Tokens(input=5, cached=5, written=0, output=1)
