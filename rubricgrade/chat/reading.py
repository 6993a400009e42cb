"""Reads a chat completion: an OpenAI-shaped JSON object, from whatever server, into an `Answer`. It trusts no field."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from rubricgrade.chat.contract import Finish, ToolCall
from rubricgrade.chat.ends import end_beside, end_of, is_call
from rubricgrade.chat.faults import Fault, from_error_object, shown
from rubricgrade.chat.tokens import Tokens

_SPOKEN = frozenset({"text", "output_text"})
"""Types of a content part that hold what a model says."""

_THOUGHT = frozenset({"thinking", "reasoning", "reasoning_text", "redacted_thinking"})
"""Types of a content part that hold what it thought."""

_BLOCKS = frozenset({"text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "web_search_tool_result"})
"""Types of a content block of Anthropic's."""

_ROLES = frozenset({"assistant", "model"})
"""Who speaks in a reply, where a server says so."""

_MOST_TOKENS = 2 * 10**7
"""Of one attempt; no model reads or writes so many, so that a larger number is none."""

_MOST_PARTS = 200_000
"""Objects and lists of one body, braces in texts included; millions of them take seconds, in which all else waits."""

_MOST_KEYS = 200_000
"""Keys of one body, colons in texts included."""

_SHORT = 1 << 20
"""Bytes of a body in which there is no room for work that others would notice."""

_SHOWN = 100
"""Characters of a key that are shown."""


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
    _bound(body)
    try:
        value = _DECODER.decode(body.decode(json.detect_encoding(body), "surrogatepass"))
    except _Ambiguous as fault:
        raise fault.told() from None
    except (ValueError, RecursionError):
        start = body[:2000].decode("utf-8", "replace")
        if start.lstrip()[:1] == "<":
            raise Fault("not_found", f"a web page in place of a reply: {shown(start, key)}") from None
        raise Fault("unreadable", f"a body that is not JSON: {shown(start, key)}", maybe_billed=True) from None
    return read_completion(value, key=key)


def check_body(body: bytes) -> None:
    """Look at the body of a 200 answer that litellm reads: it takes the last of several keys, and all for an answer.

    Args:
        body: Of whatever provider. What is no JSON is for litellm to judge.

    Raises:
        Fault: It says two things, or that a call follows where there is none; or, in the shape of Anthropic or Bedrock,
            it has an end or a block that is not known.
    """
    _bound(body)
    try:
        value = _object(_DECODER.decode(body.decode(json.detect_encoding(body), "surrogatepass")))
    except _Ambiguous as fault:
        raise fault.told() from None
    except (ValueError, RecursionError):
        return
    if "stopReason" in value:
        end_of(value["stopReason"])
    listed = value.get("choices")
    for choice in cast("list[Any]", listed) if isinstance(listed, list) else []:
        _check_call(_object(choice).get("finish_reason"), _calls(_object(_object(choice).get("message"))))
    content = value.get("content")
    if value.get("type") != "message" or not isinstance(content, list):
        return
    end_of(value.get("stop_reason"))
    kinds = [_object(block).get("type") for block in cast("list[Any]", content)]
    unknown = next((kind for kind in kinds if not isinstance(kind, str) or kind not in _BLOCKS), "text")
    if unknown != "text":
        raise Fault("unreadable", f"a content block of an unknown kind: {shown(repr(unknown))}", maybe_billed=True)
    _check_call(value.get("stop_reason"), [kind for kind in kinds if kind == "tool_use"])


def _check_call(word: Any, calls: Sequence[object]) -> None:
    """Raise `Fault` where the end says that a tool is called, and none is."""
    if is_call(word) and not calls:
        detail = f"the reply ended with {shown(repr(word))}, and it calls no tool"
        raise Fault("unreadable", detail, maybe_billed=True)


def _bound(body: bytes) -> None:
    """Raise `Fault` where there is more in a body than can be read without a noticeable wait."""
    if body.count(b"[") + body.count(b"{") > _MOST_PARTS:
        raise Fault("unreadable", f"a body of more than {_MOST_PARTS:,} objects and lists", maybe_billed=True)
    if len(body) > _SHORT and body.count(b":") > _MOST_KEYS:
        raise Fault("unreadable", f"a body of more than {_MOST_KEYS:,} keys", maybe_billed=True)


def read_completion(value: Any, *, key: str | None = None, checked: bool = False) -> Answer:
    """Read a chat completion's JSON value.

    Args:
        value: From JSON, or from litellm.
        key: The API key, so that an echo of it is struck out.
        checked: `check_body` has seen the body. litellm may have made a text of a call, and left the word for its end:
            where a model takes no schema it asks for a tool that does.

    Raises:
        Fault: It is none, or it is an error object.
    """
    tokens = _tokens(_object(value).get("usage"))
    try:
        return _answer(value, tokens, key, checked=checked)
    except Fault as fault:
        fault.tokens = tokens
        raise


def _answer(value: Any, tokens: Tokens | None, key: str | None, *, checked: bool) -> Answer:
    body = _object(value)
    if body.get("error"):
        raise from_error_object(body["error"], key=key)
    choices = body.get("choices")
    if not isinstance(choices, list):
        raise Fault("unreadable", f"JSON without choices: {shown(json.dumps(value)[:2000], key)}", maybe_billed=True)
    listed = cast("list[Any]", choices)
    if len(listed) > 1:
        raise Fault("unreadable", f"{len(listed)} replies where one was asked for", maybe_billed=True)
    choice = _object(listed[0] if listed else None)
    if choice.get("error"):
        raise from_error_object(choice["error"], key=key)
    message = _object(choice.get("message"))
    role = message.get("role") or "assistant"
    if not isinstance(role, str) or role.lower() not in _ROLES:
        raise Fault("unreadable", f"words of another role, {shown(repr(role), key)}", maybe_billed=True)
    own = _object(choice.get("provider_specific_fields"))
    # litellm calls every word that it does not know a stop, and keeps the word here.
    finish = end_of(own.get("native_finish_reason") or choice.get("finish_reason"), key=key)
    for word in (choice.get("native_finish_reason"), choice.get("finish_reason")):
        finish = end_beside(finish, word)
    if finish == "stop" and (_filtered(choice) or _filtered(own)):
        finish = "filtered"
    said = _said(message.get("content"))
    # litellm has moved this field about between versions.
    refusal = said.refusal or message.get("refusal") or _object(message.get("provider_specific_fields")).get("refusal")
    text = said.text
    if refusal and not (isinstance(refusal, str) and refusal.isspace()):
        # Beside a text that says otherwise, too: which of the two was meant would be a guess.
        text, finish = text if text.strip() else _text(refusal), "refused"
    calls = _calls(message)
    if not checked:
        _check_call(choice.get("finish_reason"), calls)
    if finish == "stop" and not text.strip() and not calls:
        finish = "empty"
    reasoning = _text(message.get("reasoning_content")) or _text(message.get("reasoning")) or said.reasoning
    return Answer(text, finish, _text(body.get("model"))[:200], reasoning, tokens, calls)


@dataclass(frozen=True, slots=True)
class _Said:
    text: str = ""
    reasoning: str = ""
    refusal: str = ""


def _said(content: Any) -> _Said:
    """What a message's content says: a text, or parts of which some are spoken and others only thought."""
    if content is None or isinstance(content, str):
        return _Said(_text(content))
    found: dict[str, list[str]] = {"text": [], "reasoning": [], "refusal": []}
    for item in cast("list[Any]", content) if isinstance(content, list) else [None]:
        part = _object(item)
        kind, text = part.get("type"), part.get("text")
        if kind in _SPOKEN and isinstance(text, str):
            found["text"].append(text)
        elif kind in _THOUGHT:
            found["reasoning"].append(_text(text) or _text(part.get("thinking")))
        elif kind == "refusal":
            found["refusal"].append(_text(part.get("refusal")) or "it refused")
        else:
            raise Fault("unreadable", f"a content part of an unknown kind: {shown(repr(kind))}", maybe_billed=True)
    return _Said(**{name: _text("".join(texts)) for name, texts in found.items()})


def _filtered(choice: dict[str, Any]) -> bool:
    """Whether Azure's filter, which tells category by category, took something out."""
    results = _object(choice.get("content_filter_results")).values()
    listed = [
        each for result in results for each in (cast("list[Any]", result) if isinstance(result, list) else [result])
    ]
    return any(_object(each).get("filtered") is True for each in listed)


def _calls(message: dict[str, Any]) -> tuple[ToolCall, ...]:
    """The calls of tools, in whatever shape: one alone, or by the name that OpenAI gave them first."""
    value = message.get("tool_calls")
    listed = cast("list[Any]", value) if isinstance(value, list) else [value] if value else []
    if message.get("function_call"):
        listed = [*listed, {"function": message["function_call"]}]
    found: list[ToolCall] = []
    for number, item in enumerate(listed, 1):
        call = _object(item)
        function = _object(call.get("function"))
        arguments = function.get("arguments")
        text = _text(arguments) if isinstance(arguments, str) else json.dumps(arguments)
        found.append(ToolCall(_text(call.get("id")) or f"call_{number}", _text(function.get("name")), text))
    return tuple(found)


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    """Text of a field that may be anything; always encodable as UTF-8."""
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
    for value in values:
        if count := _count(value):
            return count
    return 0


def _count(value: Any) -> int | None:
    # A bool is an int, too, but of another type.
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None


class _Ambiguous(ValueError):
    """An object holds a key twice; which of the two was meant would be a guess."""

    def told(self) -> Fault:
        return Fault("unreadable", f"a body in which {self} stands twice", maybe_billed=True)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _Ambiguous(shown(repr(name[:_SHOWN])))
            seen.add(name)
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_distinct)
