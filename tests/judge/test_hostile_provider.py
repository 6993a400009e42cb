"""A provider that does everything wrong: whatever comes, a verdict is the one that was stated, or open with a cause."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from rubricgrade.chat import Retry, connect
from rubricgrade.chat.routing import Forced
from rubricgrade.judge import Judged, JudgeOptions, Judging
from tests.chat.scripted import ScriptedServer, Wire, completion, error
from tests.judge.scripted import rubric, said, trajectory

pytestmark = pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier:UserWarning")

YES, NO = said("yes", "The total is 48.2L."), said("no")
QUICK = Retry(retries=1, first_wait=0.001, longest_wait=0.002, total=20.0)


def tool_call(arguments: str) -> Wire:
    call = {"id": "c1", "type": "function", "function": {"name": "json_tool_call", "arguments": arguments}}
    return completion(None, "tool_calls", message={"tool_calls": [call]})


def packed(wire: Wire) -> Wire:
    return replace(wire, body=gzip.compress(wire.body), headers={"content-encoding": "gzip"})


def raw(head: str, body: bytes) -> Wire:
    """An answer with a head of its own; the connection ends behind it."""
    return Wire(head.replace("\n", "\r\n").encode("latin-1") + b"\r\n" + body, raw=True)


def chunked(body: bytes, extra: str = "", end: bytes = b"0\r\n\r\n") -> bytes:
    return b"".join(b"%x%s\r\n%c\r\n" % (1, extra.encode(), byte) for byte in body) + end


BODY, LENGTH = completion(YES).body, len(completion(YES).body)

STATED = {
    "plain": completion(YES),
    "fenced": completion(f"```json\n{YES}\n```"),
    "prose before it": completion(f"Let me see.\n\n{YES}"),
    "thinking before it": completion(f"<think>at first {NO}</think>{YES}"),
    "reasoning beside it": completion(YES, message={"reasoning_content": NO, "reasoning": NO}),
    "text in parts": completion(YES, message={"content": [{"type": "text", "text": YES}]}),
    "another case": completion(YES.replace('"yes"', '" YES"')),
    "packed": packed(completion(YES)),
    "a model that is named in colours": completion(YES, model="\x1b[31mevil\u202e\n" * 100),
    "no word for its end": completion(YES, ""),
    "thinking in a part": completion(
        YES, message={"content": [{"type": "thinking", "thinking": NO, "text": NO}, {"type": "text", "text": YES}]}
    ),
    "HTTP/1.0 without a length": raw("HTTP/1.0 200 OK\n", BODY),
    "byte by byte": raw("HTTP/1.1 200 OK\ntransfer-encoding: chunked\n", chunked(BODY, ";a=b")),
    "with a trailer": raw(
        "HTTP/1.1 200 OK\ntransfer-encoding: chunked\n", chunked(BODY, end=b"0\r\nx-verdict: no\r\n\r\n")
    ),
    "early hints before it": raw(
        f"HTTP/1.1 103 Early Hints\nlink: x\n\nHTTP/1.1 200 OK\ncontent-length: {LENGTH}\n", BODY
    ),
    "no reason, odd headers": raw(f"HTTP/1.1 200\nX-a: \xff\nContent-Length:{LENGTH}\n", BODY),
    "no usage": completion(YES, usage={"prompt_tokens": None}),
    "an absurd usage": completion(YES, usage={"prompt_tokens": 10**30, "completion_tokens": -4}),
    "a usage in words": completion(YES, usage={"prompt_tokens": "many", "completion_tokens": []}),
}

OPEN = {
    "nothing": completion(""),
    "null": completion(None),
    "reasoning alone": completion(None, message={"reasoning_content": YES}),
    "a tool call": tool_call(YES),
    "a tool call beside an answer": completion(
        YES, "tool_calls", message={"tool_calls": [{"function": {"name": "x"}}]}
    ),
    "two replies": completion(choices=[json.loads(BODY)["choices"][0]] * 2),
    "choices twice": Wire(BODY.replace(b'"usage"', b'"choices": [], "usage"')),
    "content twice": Wire(BODY.replace(b'"content"', b'"content": "", "content"')),
    "an unknown end": completion(YES, "finished_perhaps"),
    "a blocked end": completion(YES, "PROHIBITED_CONTENT"),
    "a full context": completion(YES, "model_context_window_exceeded"),
    "an unknown part": completion(YES, message={"content": [{"type": "text", "text": YES}, {"type": "image_url"}]}),
    "all of it thought": completion(YES, message={"content": [{"type": "thinking", "text": YES}]}),
    "a refusal in a part": completion(YES, message={"content": [{"type": "text", "text": YES}, {"type": "refusal"}]}),
    "an error in a choice": completion(choices=[{**json.loads(BODY)["choices"][0], "error": {"code": 502}}]),
    "an error beside it": completion(YES, error={"code": 502, "message": "upstream"}),
    "an object for a text": completion(YES, message={"content": json.loads(YES)}),
    "a refusal": completion(None, message={"refusal": "I won't."}),
    "a refusal beside an answer": completion(YES, message={"refusal": "I won't."}),
    "filtered": completion(YES, "content_filter"),
    "cut": completion(YES, "length"),
    "cut in the middle": completion(YES[:-9]),
    "a trailing comma": completion(YES.replace('"yes"}', '"yes",}')),
    "single quotes": completion(YES.replace('"', "'")),
    "a list": completion(f"[{YES}]"),
    "a text that holds it": completion(json.dumps(YES)),
    "wrapped": completion(json.dumps({"result": json.loads(YES)})),
    "two that differ": completion(f"{YES}\n{NO}"),
    "two keys": completion('{"answer": "no", "answer": "yes"}'),
    "two keys but for the case": completion('{"ANSWER": "no", "answer": "yes"}'),
    "true": completion('{"answer": true}'),
    "a number": completion('{"answer": "1"}'),
    "NaN": completion(YES.replace('"yes"', "NaN")),
    "1e999": completion(YES.replace('"yes"', "1e999")),
    "a million digits": completion('{"answer": ' + "9" * 1_000_000 + "}"),
    "nested": completion('{"answer":' * 100_000),
    "quotation marks": completion('"' * 3_000_000),
    "only thinking": completion(f"<think>{YES}"),
    "only a draft": completion(f"[THINK]{YES}[/THINK] I can't say."),
    "one word": completion("yes"),
    "a sentence": completion("The answer is yes."),
    "an answer of the agent's": completion(said("yes", "words that nobody wrote")),
    "a lone surrogate": Wire(completion("@@").body.replace(b"@@", b'{\\"answer\\": \\"y\\ud800es\\"}')),
    "no UTF-8": Wire(b'{"choices": [{"message": {"content": "\xff\xfe"}}]}'),
    "no choices": Wire(b'{"choices": []}'),
    "no completion": Wire(b"[]"),
    "nested JSON": Wire(b"[" * 100_000),
    "many values": Wire(b'{"choices": [' + b"[]," * 1_000_000 + b"[]]}"),
    "events": Wire(b'data: {"choices": []}\n\ndata: [DONE]\n\n', headers={"content-type": "text/event-stream"}),
    "a chunk of a stream": Wire(b'{"choices": [{"delta": {"content": "yes"}}]}'),
    "an error that is called a success": Wire(b'{"error": {"message": "overloaded", "code": 529}}'),
    "a page": Wire(b"<html>" + YES.encode(), headers={"content-type": "text/html"}),
    "a page of a gateway": Wire(b"<html>bad gateway", 502, {"content-type": "text/html"}),
    "no content": Wire(b"", 204),
    "elsewhere": Wire(b"", 302, {"location": "/elsewhere"}),
    "a bomb": Wire(gzip.compress(bytes(64 << 20)), headers={"content-encoding": "gzip"}),
    "a packed half": replace(packed(completion(YES)), body=packed(completion(YES)).body[:80]),
    "without an end": Wire(b"x" * 65536, endless=True),
    "a length that is too short": replace(completion(YES), headers={"content-length": "50"}),
    "two lengths": raw(f"HTTP/1.1 200 OK\ncontent-length: {LENGTH}\ncontent-length: 9\n", BODY),
    "a length and chunks": raw(f"HTTP/1.1 200 OK\ncontent-length: {LENGTH}\ntransfer-encoding: chunked\n", BODY),
    "a negative length": raw("HTTP/1.1 200 OK\ncontent-length: -1\n", BODY),
    "a length of a million digits": raw(f"HTTP/1.1 200 OK\ncontent-length: {'9' * 1_000_000}\n", BODY),
    "a chunk of a negative size": raw("HTTP/1.1 200 OK\ntransfer-encoding: chunked\n", b"-5\r\nhello\r\n"),
    "a chunk that is promised": raw("HTTP/1.1 200 OK\ntransfer-encoding: chunked\n", b"FFFFFFFFFFFFFFF\r\n" + BODY),
    "chunks without an end": raw("HTTP/1.1 200 OK\ntransfer-encoding: chunked\n", chunked(BODY, end=b"")),
    "another protocol": raw("HTTP/1.1 101 Switching Protocols\nupgrade: websocket\nconnection: upgrade\n", BODY),
    "a partial content": raw(f"HTTP/1.1 206 Partial Content\ncontent-length: {LENGTH}\n", BODY),
    "a reset": replace(completion(YES), reset_after=60),
    "an answer that is none": Wire(b"\x15\x03\x01\x00\x02\x02\x28", raw=True),
    "a line without an end": Wire(b"HTTP/1.1 200 OK\r\nx: " + b"y" * 1_000_000, raw=True),
    **{f"HTTP {status}": error(status) for status in (400, 401, 402, 403, 404, 407, 408, 409, 413, 418, 422, 425)},
    **{f"HTTP {status}": error(status) for status in (429, 451, 500, 501, 503, 504, 520, 524, 529, 599)},
    "come again in a year": error(429, headers={"retry-after": "31536000"}),
    "come again never": error(429, headers={"retry-after": "1e999"}),
    "come again yesterday": error(429, headers={"retry-after": "-86400"}),
}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    running = ScriptedServer()
    yield running
    running.close()


def judge(server: ScriptedServer, wire: Wire, route: Forced = "compatible", **options: Any) -> list[Judged]:
    """Two criteria, asked of a server that always answers the same."""
    server.script = [wire]
    chosen: dict[str, Any] = {"model": "openai/judge", "api_base": server.base, "timeout": 20, **options}
    settings = JudgeOptions(api_key="k", **chosen)
    asked = rubric({"id": "one"}, {"id": "two", "description": "names it again"})

    async def run() -> list[Judged]:
        chat = connect(settings, retry=QUICK, route=route)
        judging = Judging(trajectory(), asked, settings, chat=chat)
        return list(await asyncio.gather(*map(judging.decide, asked.tops)))

    return asyncio.run(run())


@pytest.mark.parametrize("wire", STATED.values(), ids=STATED)
def test_what_is_stated_is_read(server: ScriptedServer, wire: Wire) -> None:
    for judged in judge(server, wire):
        assert (judged.verdict, judged.value) == ("met", 1.0)
        assert judged.record.votes[0].model.isprintable()
        assert judged.record.usage.input_tokens in (0, 100)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("wire", OPEN.values(), ids=OPEN)
def test_what_is_not_stated_is_open_and_says_why(server: ScriptedServer, wire: Wire) -> None:
    for judged in judge(server, wire):
        assert (judged.verdict in ("error", "cannot_tell"), judged.value) == (True, None)
        assert judged.cause in ("judge_failed", "judge_unparseable")
        assert judged.message
        assert len(judged.message) < 2000
    assert len(server.seen) <= 12


@pytest.mark.parametrize(
    "name", ["cut in the middle", "two that differ", "a bomb", "nested", "HTTP 500", "a tool call"]
)
def test_so_are_answers_to_several_questions_at_once(server: ScriptedServer, name: str) -> None:
    for judged in judge(server, OPEN[name], batch=2):
        assert (judged.value, judged.cause in ("judge_failed", "judge_unparseable")) == (None, True)


def test_a_server_that_speaks_no_tls() -> None:
    async def run() -> Judged:
        async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            await writer.drain()
            writer.close()

        plain = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with plain:
            base = f"https://127.0.0.1:{plain.sockets[0].getsockname()[1]}/v1"
            settings = JudgeOptions(model="openai/judge", api_base=base, api_key="k", timeout=20)
            asked = rubric()
            return await Judging(trajectory(), asked, settings, chat=connect(settings, retry=QUICK)).decide(
                asked.tops[0]
            )

    judged = asyncio.run(run())
    assert (judged.value, judged.cause) == (None, "judge_failed")
    assert "SSL" in judged.message


def test_a_server_that_drips(server: ScriptedServer) -> None:
    for judged in judge(server, Wire(b'{"choi', headers={"content-length": "10000"}), timeout=0.2):
        assert (judged.value, judged.cause) == (None, "judge_failed")
        assert "0.2 s" in judged.message


DRIPS = {
    "a body": b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n",
    "chunks": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
    "headers": b"HTTP/1.1 200 OK\r\n",
    "hints": b"",
}
DRIP = {"chunks": b"1\r\n \r\n", "headers": b"x-y: z\r\n", "hints": b"HTTP/1.1 103 Early Hints\r\nx: y\r\n\r\n"}


@pytest.mark.parametrize("kind", DRIPS)
def test_drops_that_never_cease(kind: str) -> None:
    """Something comes all the time, so that no silence ends it."""

    async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(DRIPS[kind])
        try:
            while not writer.is_closing():
                writer.write(DRIP.get(kind, b" "))
                await writer.drain()
                await asyncio.sleep(0.01)
        except ConnectionError:
            pass  # it was hung up on
        finally:
            writer.close()

    async def run() -> Judged:
        async with await asyncio.start_server(drip, "127.0.0.1", 0) as dripping:
            base = f"http://127.0.0.1:{dripping.sockets[0].getsockname()[1]}/v1"
            settings = JudgeOptions(model="openai/judge", api_base=base, api_key="k", timeout=0.3)
            asked = rubric()
            chat = connect(settings, retry=replace(QUICK, retries=0))
            judged = await Judging(trajectory(), asked, settings, chat=chat).decide(asked.tops[0])
            await asyncio.sleep(0.05)  # until those who drip have seen it
            return judged

    judged = asyncio.run(run())
    assert (judged.value, judged.cause) == (None, "judge_failed")


def anthropic(text: str) -> Any:
    usage = {"input_tokens": 5, "output_tokens": 1}
    content = [{"type": "text", "text": text}]
    return {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": content, "stop_reason": "end_turn", "usage": usage}  # fmt: skip


def gemini(text: str) -> Any:
    content = {"role": "model", "parts": [{"text": text}]}
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 3, "totalTokenCount": 6}
    return {"candidates": [{"finishReason": "STOP", "content": content}], "usageMetadata": usage}


def openai(text: str) -> Any:
    return json.loads(completion(text).body)


def groq(text: str) -> Any:
    return {**openai(text), "service_tier": "on_demand"}


def ollama(text: str) -> Any:
    message = {"role": "assistant", "content": text}
    return {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": True, "done_reason": "stop"}


FAMILIES = {
    "anthropic/claude-sonnet-4-5": anthropic,
    "gemini/gemini-2.5-flash": gemini,
    "mistral/mistral-large-latest": openai,
    "groq/llama-3.3-70b-versatile": groq,
    "deepseek/deepseek-chat": openai,
    "openrouter/openai/gpt-5-mini": openai,
    "ollama_chat/llama3": ollama,
}


@pytest.mark.parametrize(("model", "words"), FAMILIES.items(), ids=FAMILIES)
def test_every_family_of_providers_is_read_alike(server: ScriptedServer, model: str, words: Any) -> None:
    for text, value in (
        (YES, 1.0),
        (f"```json\n{NO}\n```", 0.0),
        (f"{YES} {NO}", None),
        ("yes", None),
        ("{" * 5000, None),
    ):
        wire = Wire(json.dumps(words(text)).encode())
        assert {judged.value for judged in judge(server, wire, "litellm", model=model, api_base=server.origin)} == {
            value
        }
    # With a provider's own words for what went wrong, or with none.
    for wire in (error(500), Wire(b"<html>"), Wire(b"{}"), Wire(b'{"id"')):
        for judged in judge(server, wire, "litellm", model=model, api_base=server.origin):
            assert (judged.value, judged.cause in ("judge_failed", "judge_unparseable")) == (None, True)


def test_a_schema_that_is_asked_for_as_a_tool_is_answered_by_its_call(server: ScriptedServer) -> None:
    called = json.loads(tool_call(YES).body)
    wire = Wire(json.dumps({**called, "service_tier": "on_demand"}).encode())
    for judged in judge(server, wire, "litellm", model="groq/llama-3.3-70b-versatile", api_base=server.origin):
        assert judged.value == 1.0
    assert server.seen[0].body["tools"][0]["function"]["name"] == "json_tool_call"
