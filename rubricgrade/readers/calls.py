"""Tool calls and results in every provider's spelling: entries of ``tool_calls``, and blocks inside content."""

from __future__ import annotations

from typing import Any

from rubricgrade.readers.draft import Draft
from rubricgrade.readers.jsontext import NotJson, parse
from rubricgrade.readers.shapes import as_label, as_object, as_text, compact
from rubricgrade.trajectory import Call

ABSENT = object()
CALL_BLOCKS = {"tool_use", "server_tool_use", "mcp_tool_use", "tool-call", "tool_call"}
RESULT_BLOCKS = {"tool_result", "tool-result", "tool_call_response"}
SERVER_RESULT = "_tool_result"


def call_of(name: Any, arguments: Any, *, call_id: Any = None, draft: Draft, place: str) -> Call:
    """A call, with its arguments as an object where they are one.

    An object and the text of the same object come to the same. Text that is no JSON object is kept as it came, with a
    warning, and never replaced. No arguments at all are an empty object.
    """
    values: dict[str, Any] | None = None
    raw: str | None = None
    if arguments is ABSENT or arguments is None:
        values = {}
    elif isinstance(arguments, str):
        values, raw = _parsed(arguments, draft, place)
    elif (values := as_object(arguments)) is None:
        raw = compact(arguments)
        draft.warn(place, "arguments are JSON but no object; kept as text", "malformed_arguments")
    if not isinstance(name, str) or not name:
        draft.warn(place, "a tool call without a name", "unnamed_call")
    return Call(id=as_label(call_id), name=as_label(name) or "", arguments=values, raw=raw)


def call_entry(entry: Any, draft: Draft, place: str) -> Call | None:
    """A call from an entry of ``tool_calls``: nested under ``function`` as in chat completions, or flat.

    Results of verifiers before 1 hold each entry as the text of its JSON.
    """
    fields = as_object(_value_of(entry, draft, place))
    if fields is None:
        draft.fault(place, "a tool call is an object with a function name and arguments")
        return None
    function = as_object(fields.get("function")) or as_object(fields.get("custom")) or fields
    name = as_text(function.get("name")) or as_text(fields.get("function")) or as_text(fields.get("name"))
    arguments = _first(function, "arguments", "args", "input", "parameters")
    return call_of(name, arguments, call_id=fields.get("id"), draft=draft, place=place)


def call_block(block: dict[str, Any], draft: Draft, place: str) -> Call | None:
    """A call from a block of content; None if the block is none."""
    if as_text(block.get("type")) not in CALL_BLOCKS:
        return None
    name = block.get("name") or block.get("toolName")
    arguments = _first(block, "input", "arguments", "args")
    return call_of(name, arguments, call_id=block.get("id") or block.get("toolCallId"), draft=draft, place=place)


def is_result_block(block: dict[str, Any]) -> bool:
    """Whether a block of content is the result of a tool."""
    kind = block.get("type")
    return isinstance(kind, str) and (kind in RESULT_BLOCKS or kind.endswith(SERVER_RESULT))


def result_block(block: dict[str, Any]) -> tuple[Any, str | None, str | None, bool | None]:
    """The content, the call's id, the tool's name and the error mark of a result block."""
    key = as_label(block.get("tool_use_id") or block.get("toolCallId") or block.get("id"))
    tool = as_text(block.get("toolName")) or as_text(block.get("name"))
    failed = block.get("is_error", block.get("isError"))
    value = _first(block, "content", "output", "result", "response")
    wrapped = as_object(value)
    if wrapped is not None and "value" in wrapped and isinstance(wrapped.get("type"), str):
        if wrapped["type"].startswith("error"):
            failed = True
        value = wrapped["value"]
    return None if value is ABSENT else value, key, tool, failed if isinstance(failed, bool) else None


def _value_of(entry: Any, draft: Draft, place: str) -> Any:
    """An entry, or what its text says; None for a text that is no JSON."""
    if not isinstance(entry, str):
        return entry
    try:
        value, notes = parse(entry)
    except NotJson:
        return None
    for note in notes:
        draft.warn(place, note)
    return value


def _parsed(text: str, draft: Draft, place: str) -> tuple[dict[str, Any] | None, str | None]:
    """The object that a text of arguments holds, or the text itself."""
    if not text.strip():
        draft.warn(place, "arguments are an empty text; taken as no arguments", "empty_arguments")
        return {}, None
    try:
        value, notes = parse(text)
    except NotJson as error:
        draft.warn(place, f"the text of arguments {error.reason}; kept as text", "malformed_arguments")
        return None, text
    fields = as_object(value)
    if fields is None:
        draft.warn(place, "arguments are JSON but no object; kept as text", "malformed_arguments")
        return None, text
    for note in notes:
        draft.warn(place, f"arguments: {note}")
    return fields, None


def _first(fields: dict[str, Any], *names: str) -> Any:
    return next((fields[name] for name in names if name in fields), ABSENT)
