"""Conversations as lists of messages, bare or inside a record: chat completions, Anthropic, trainers, datasets.

A record is any object that holds its messages under one of several names; what else it holds becomes facts of the
trajectory. So one reader serves run records, tau-bench, mini-swe-agent, prompt and completion rows of trainers and
requests with their responses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rubricgrade.readers.draft import Draft
from rubricgrade.readers.message import ROLES, add_message, leftovers
from rubricgrade.readers.records import facts_of, name_of
from rubricgrade.readers.responses import Items
from rubricgrade.readers.shapes import as_list, as_object, as_text
from rubricgrade.readers.source import Document
from rubricgrade.readers.usage import total
from rubricgrade.trajectory import Trajectory

MESSAGES = ("messages", "traj", "conversation", "conversations")
# Where a response says what was said; all else in it is about the response.
SAID = {"choices", "role", "content", "type"}
ASKED = {"messages", "system", "model"}
EXIT = "exit"


def is_message(value: Any) -> bool:
    """Whether it looks like a message: an object with a role, known or not, and something said."""
    fields = as_object(value) or {}
    return isinstance(fields.get("role"), str) and bool({"content", "tool_calls", "function_call"} & fields.keys())


def is_conversation(value: Any) -> bool:
    """Whether it is a list of messages; one bad message among them does not change that."""
    entries = as_list(value)
    return bool(entries) and any(is_message(entry) for entry in entries or [])


def matches(value: Any) -> bool:
    """Whether it is a list of messages or a record that holds one."""
    fields = as_object(value)
    if fields is None:
        return is_conversation(value)
    request = as_object(fields.get("request"))
    return (
        any(isinstance(fields.get(name), list) for name in MESSAGES)
        or ("completion" in fields and "prompt" in fields)
        or _choices(fields) != []
        or (fields.get("type") == "message" and fields.get("role") == "assistant")
        or (request is not None and isinstance(request.get("messages"), list))
    )


def matches_lines(value: Any) -> bool:
    """Whether one line of a JSONL file is one message."""
    return is_message(value) and not matches(value)


def read(document: Document) -> list[Trajectory]:
    """The conversation, or one for each of several choices that a model gave.

    Raises:
        TrajectoryError: A message can't be read, or there is none.
    """
    fields = as_object(document.value)
    if fields is None:
        return [_episode({}, document, as_list(document.value) or [], path="")]
    rest = dict(fields)
    request, response = as_object(rest.get("request")), as_object(rest.get("response"))
    name = next((name for name in MESSAGES if isinstance(rest.get(name), list)), None)
    path = name or "messages"
    if request is not None and isinstance(request.get("messages"), list):
        before = [*_system(request), *request["messages"]]
        answers = _answers(response or {})
        about = {key: value for key, value in (response or {}).items() if key not in SAID}
        rest |= {"usage": about.pop("usage", None), "model": request.get("model"), "response": about}
        rest["request"] = {key: value for key, value in request.items() if key not in ASKED}
    elif name is not None:
        before, answers = [*_system(rest), *rest.pop(name)], _choices(rest)
        rest.pop("system", None)
        rest.pop("choices", None)
    elif "completion" in rest and "prompt" in rest:
        before, answers = [*_side(rest.pop("prompt"), "user"), *_side(rest.pop("completion"), "assistant")], []
        path = "prompt+completion"
    else:
        before, answers = [], _answers(rest)
        rest = {key: value for key, value in rest.items() if key not in SAID}
    if len(answers) <= 1:
        return [_episode(rest, document, [*before, *answers], path=path)]
    return [
        _episode(
            rest | {"id": f"{name_of(rest, document)}-choice-{number}", "sample": number}, document, messages, path
        )
        for number, messages in enumerate([*before, answer] for answer in answers)
    ]


def read_lines(documents: list[Document]) -> list[Trajectory]:
    """The conversation of a JSONL file with one message on each line."""
    draft = Draft()
    for document in documents:
        draft.line = document.line
        add_message(draft, document.value, "")
    return [draft.finish(id=documents[0].name.rsplit("-", 1)[0])]


def _episode(fields: dict[str, Any], document: Document, messages: list[Any], path: str) -> Trajectory:
    draft = Draft()
    items = Items(draft)
    rest = dict(fields)
    for place, message in _single(messages, path):
        given = as_object(message) or {}
        if "role" not in given and items.takes(given):
            items.add(given, place)
            continue
        items.end()
        if given.get("role") == EXIT:
            # How an episode of mini-swe-agent ended, with its patch: a message that nobody wrote.
            rest[EXIT] = {key: value for key, value in message.items() if key != "role"}
            draft.warn(place, "the closing message of role 'exit' is no step; it was moved to meta", "exit")
        else:
            add_message(draft, message, place)
    items.end()
    facts = facts_of(rest)
    facts["meta"] = leftovers(draft, facts["meta"], "")
    if (usage := facts["usage"]) is not None and usage.input_tokens is None:
        # mini-swe-agent counts calls and money for the whole, tokens for each call.
        spent = total(step.usage for step in draft.steps) or usage
        facts["usage"] = spent.model_copy(update=usage.model_dump(exclude_none=True))
    return draft.finish(id=name_of(fields, document), **facts)


def _single(messages: list[Any], path: str) -> Iterator[tuple[str, Any]]:
    """The messages with their places; of one that holds several results, as tau2 writes, each result is one."""
    for index, message in enumerate(messages):
        place = f"{path}[{index}]"
        results = as_list((as_object(message) or {}).get("tool_messages"))
        if results is None:
            yield place, message
        else:
            yield from ((f"{place}.tool_messages[{number}]", result) for number, result in enumerate(results))


def _side(value: Any, role: str) -> list[Any]:
    """A prompt or a completion: messages, one message, or the text of one."""
    entries = as_list(value)
    if entries is not None:
        return entries
    return [value] if as_object(value) is not None else [{"role": role, "content": value}]


def _system(fields: dict[str, Any]) -> list[dict[str, Any]]:
    """The system text that some providers keep beside the messages."""
    return [{"role": "system", "content": fields["system"]}] if fields.get("system") else []


def _choices(fields: dict[str, Any]) -> list[Any]:
    """The messages of a chat completion's choices, each with the reason why it ended."""
    choices = [as_object(choice) or {} for choice in as_list(fields.get("choices")) or []]
    messages = [(as_object(choice.get("message")), choice.get("finish_reason")) for choice in choices]
    return [{**message, "finish_reason": reason} for message, reason in messages if message is not None]


def _answers(response: dict[str, Any]) -> list[Any]:
    """The messages that a response holds: choices of a chat completion, or the one message of an Anthropic response."""
    if choices := _choices(response):
        return choices
    if as_text(response.get("role")) in ROLES and "content" in response:
        return [{"role": response["role"], "content": response["content"]}]
    return []
