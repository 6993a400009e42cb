"""Reads a chat completion: an OpenAI-shaped JSON object, from whatever server, into an `Answer`. It trusts no field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from rubricgrade.chat.contract import Finish, ToolCall
from rubricgrade.chat.faults import Fault, from_error_object, shown

_FINISHES: Mapping[str, Finish] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "filtered",
    "safety": "filtered",
    "recitation": "filtered",
    "prohibited_content": "filtered",
    "blocklist": "filtered",
    "spii": "filtered",
    "guardrail_intervened": "filtered",
    "refusal": "refused",
}
_MOST_TOKENS = 2 * 10**7
"""Of one attempt; no model reads or writes so many, so that a larger number is none."""

_MOST_PARTS = 200_000
"""Objects and lists of one body, braces in texts included; millions of them take seconds, in which all else waits."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one attempt, as the server counted them.

    Attributes:
        input: Of the whole prompt, `cached` and `written` included.
        cached: Read from a prefix cache.
        written: Written to a prefix cache, where a provider charges for that.
        output: Hidden reasoning included.
    """

    input: int = 0
    cached: int = 0
    written: int = 0
    output: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """What one attempt brought. `tokens` is None when the server did not say."""

    text: str
    finish: Finish
    model: str = ""
    reasoning: str = ""
    tokens: Tokens | None = None
    calls: tuple[ToolCall, ...] = ()


def read_body(body: bytes, *, key: str | None = None) -> Answer:
    """Read the body of a 200 answer.

    Raises:
        Fault: It is no chat completion.
    """
    if body.count(b"[") + body.count(b"{") > _MOST_PARTS:
        raise Fault("unreadable", f"a body of more than {_MOST_PARTS:,} objects and lists", maybe_billed=True)
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        start = body[:2000].decode("utf-8", "replace")
        if start.lstrip()[:1] == "<":
            raise Fault("not_found", f"a web page in place of a reply: {shown(start, key)}") from None
        raise Fault("unreadable", f"a body that is not JSON: {shown(start, key)}", maybe_billed=True) from None
    return read_completion(value, key=key)


def read_completion(value: Any, *, key: str | None = None) -> Answer:
    """Read a chat completion's JSON value.

    Raises:
        Fault: It is none, or it is an error object.
    """
    body = _object(value)
    if body.get("error"):
        raise from_error_object(body["error"], key=key)
    choices = body.get("choices")
    if not isinstance(choices, list):
        raise Fault("unreadable", f"JSON without choices: {shown(json.dumps(value)[:2000], key)}", maybe_billed=True)
    choice = _object(cast("list[Any]", choices)[0] if choices else None)
    message = _object(choice.get("message"))
    text = _text(message.get("content"))
    finish = _finish(choice.get("finish_reason"))
    # litellm has moved this field about between versions.
    refusal = _text(message.get("refusal")) or _text(_object(message.get("provider_specific_fields")).get("refusal"))
    if refusal.strip():
        # Beside a text that says otherwise, too: which of the two was meant would be a guess.
        text, finish = text if text.strip() else refusal, "refused"
    calls = _calls(message.get("tool_calls"))
    if finish == "stop" and not text.strip() and not calls:
        finish = "empty"
    reasoning = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    return Answer(text, finish, _text(body.get("model"))[:200], reasoning, _tokens(body.get("usage")), calls)


def _calls(value: Any) -> tuple[ToolCall, ...]:
    found: list[ToolCall] = []
    for number, item in enumerate(cast("list[Any]", value) if isinstance(value, list) else [], 1):
        call = _object(item)
        function = _object(call.get("function"))
        arguments = function.get("arguments")
        text = _text(arguments) if isinstance(arguments, str) else json.dumps(arguments)
        found.append(ToolCall(_text(call.get("id")) or f"call_{number}", _text(function.get("name")), text))
    return tuple(found)


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _finish(reason: Any) -> Finish:
    reason = str(reason or "").lower()
    if reason == "error":
        raise Fault("server", "the provider broke off its reply", maybe_billed=True)
    return _FINISHES.get(reason, "stop")


def _text(value: Any) -> str:
    """Text of a field that may be a string, a list of parts or anything else; always encodable as UTF-8."""
    if isinstance(value, list):
        parts = [_object(part) for part in cast("list[Any]", value)]
        value = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    if not isinstance(value, str):
        return ""
    if not value.isascii():
        value = value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return value


def _tokens(usage: Any) -> Tokens | None:
    """What a server counted; None if it did not say it all, as what is unknown is not 0."""
    fields = _object(usage)
    details = _object(fields.get("prompt_tokens_details"))
    read, written = _count(fields.get("prompt_tokens")), _count(fields.get("completion_tokens"))
    if read is None or written is None:
        return None
    cached = _first(
        details.get("cached_tokens"), fields.get("cache_read_input_tokens"), fields.get("prompt_cache_hit_tokens")
    )
    stored = _first(fields.get("cache_creation_input_tokens"), details.get("cache_creation_tokens"))
    return Tokens(read, min(cached, read), min(stored, read - min(cached, read)), written)


def _first(*values: Any) -> int:
    """The first count that is not 0."""
    return next((count for value in values if (count := _count(value))), 0)


def _count(value: Any) -> int | None:
    sound = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS
    return value if sound else None
