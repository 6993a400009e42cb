"""The messages that a span holds, in every spelling that the GenAI conventions have had.

From the newest: messages as one JSON attribute each way; one event or log record for each message; a prompt and a
completion as an event or an attribute; and numbered attributes, as OpenLLMetry and OpenInference write them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rubricgrade.readers.draft import Draft
from rubricgrade.readers.jsontext import NotJson, parse
from rubricgrade.readers.otel_spans import Event, Span
from rubricgrade.readers.shapes import as_list, as_object, as_text, without_nulls

INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
INSTRUCTIONS = "gen_ai.system_instructions"
ALL = ("pydantic_ai.all_messages", "all_messages_events", "events")
CHOICE = "gen_ai.choice"
MESSAGE = ".message"
# Prompt and completion: what went in and what came out, numbered or whole.
PAIRS = (("gen_ai.prompt", "gen_ai.completion"), ("llm.input_messages", "llm.output_messages"))
CONTENT_EVENTS = ("gen_ai.content.prompt", "gen_ai.content.completion")
SDK_PROMPT, SDK_TEXT, SDK_CALLS = "ai.prompt.messages", "ai.response.text", "ai.response.toolCalls"
FAMILIES = ("gen_ai.", "pydantic_ai.", "llm.input_messages", "llm.output_messages", "ai.prompt", "ai.response")
WRAPPERS = {"message", "tool_call", "message_content"}
MOST_LEVELS = 20


@dataclass(frozen=True, slots=True)
class Heard:
    """A message, and where it stands."""

    place: str
    message: Any


def is_about(name: Any) -> bool:
    """Whether an attribute or an event belongs to the conventions."""
    return isinstance(name, str) and name.startswith(FAMILIES)


def holds_messages(name: str) -> bool:
    """Whether an attribute is where messages stand."""
    whole = {INPUT, OUTPUT, INSTRUCTIONS, *ALL, SDK_PROMPT, SDK_TEXT, SDK_CALLS}
    return name in whole or name.startswith(tuple(half for pair in PAIRS for half in pair))


def heard(draft: Draft, span: Span) -> tuple[list[Heard], list[Heard]]:
    """What a call of a model was given, and what it put out. What can't be read is a fault of the draft."""
    for spelling in SPELLINGS:
        given, put_out = spelling(draft, span)
        if given or put_out:
            return given, put_out
    return [], []


def _attributes(draft: Draft, span: Span) -> tuple[list[Heard], list[Heard]]:
    """Messages as JSON, in attributes of the span or of the one event that has all details."""
    holders = [span.attributes, *(event.attributes for event in span.events)]
    found = next((holder for holder in holders if INPUT in holder or OUTPUT in holder), span.attributes)
    given = _messages(draft, found, INPUT)
    if instructions := _value(draft, found, INSTRUCTIONS):
        given = [Heard(INSTRUCTIONS, {"role": "system", "content": instructions}), *given]
    return given, _messages(draft, found, OUTPUT)


def _whole(draft: Draft, span: Span) -> tuple[list[Heard], list[Heard]]:
    """All messages of an agent's run as one JSON attribute; or the events of a call as one."""
    for name in ALL:
        entries = [as_object(entry) or {} for entry in as_list(_value(draft, span.attributes, name)) or []]
        events = [Event(str(entry.get("event.name")), {}, entry) for entry in entries if "event.name" in entry]
        if events:
            return _sorted_out(events, name)
        if name in span.attributes:
            return _messages(draft, span.attributes, name), []
    return [], []


def _events(draft: Draft, span: Span) -> tuple[list[Heard], list[Heard]]:
    """One event or log record for each message."""
    return _sorted_out([_with_body(draft, event) for event in span.events], "events")


def _sorted_out(events: list[Event], place: str) -> tuple[list[Heard], list[Heard]]:
    given: list[Heard] = []
    put_out: list[Heard] = []
    for index, event in enumerate(events):
        body = as_object(event.body)
        if body is None:
            continue
        said = without_nulls({key: value for key, value in body.items() if not key.startswith(("event.", "gen_ai."))})
        where = f"{place}[{index}]"
        if event.name == CHOICE:
            inner = as_object(body.get("message"))
            if inner is None:
                inner = {
                    "content": body.get("message"),
                    **{k: v for k, v in said.items() if k not in {"message", "index"}},
                }
            reason = without_nulls({"finish_reason": body.get("finish_reason")})
            put_out.append(Heard(where, {"role": "assistant", **reason, **inner}))
        elif event.name.startswith("gen_ai.") and event.name.endswith(MESSAGE):
            role = event.name.removeprefix("gen_ai.").removesuffix(MESSAGE)
            given.append(Heard(where, {**said, "role": as_text(said.get("role")) or role}))
    return given, put_out


def _with_body(draft: Draft, event: Event) -> Event:
    """The event with what it says: a log record's body, else its one attribute of content, else its attributes."""
    if as_object(event.body) is not None or not is_about(event.name):
        return event
    if event.body is not None:
        return Event(event.name, event.attributes, {"content": event.body})
    content = _value(draft, event.attributes, "gen_ai.event.content")
    plain = {key: _unpacked(value) for key, value in event.attributes.items()}
    return Event(event.name, event.attributes, plain if as_object(content) is None else content)


def _contents(_draft: Draft, span: Span) -> tuple[list[Heard], list[Heard]]:
    """A prompt and a completion, each whole: in an event, or in an attribute of the span."""
    sides: list[list[Heard]] = []
    for name, event_name, role in zip(PAIRS[0], CONTENT_EVENTS, ("user", "assistant"), strict=True):
        holders = [span.attributes, *(event.attributes for event in span.events if event.name == event_name)]
        values = [_unpacked(holder[name]) for holder in holders if name in holder]
        sides.append([heard for value in values for heard in _side(value, name, role)])
    return sides[0], sides[1]


def _side(value: Any, place: str, role: str) -> list[Heard]:
    fields = as_object(value) or {}
    listed = [fields.get("messages"), fields.get("choices"), value]
    entries = next((found for found in map(as_list, listed) if found is not None), None)
    if entries is None:
        return [Heard(place, {"role": role, **(fields or {"content": value})})]
    found: list[Heard] = []
    for index, entry in enumerate(entries):
        message = as_object(entry) or {"content": entry}
        message = as_object(message.get("message")) or message
        found.append(Heard(f"{place}[{index}]", {"role": role, **message}))
    return found


def _numbered(_draft: Draft, span: Span) -> tuple[list[Heard], list[Heard]]:
    """One attribute for each field of each message, such as ``gen_ai.prompt.0.content``."""
    for given, put_out in PAIRS:
        sides = [
            [Heard(f"{name}.{number}", {"role": role, **fields}) for number, fields in _entries(span.attributes, name)]
            for name, role in ((given, "user"), (put_out, "assistant"))
        ]
        if any(sides):
            return sides[0], sides[1]
    return [], []


def _sdk(draft: Draft, span: Span) -> tuple[list[Heard], list[Heard]]:
    """The AI SDK's own attributes."""
    given = _messages(draft, span.attributes, SDK_PROMPT)
    text, calls = span.attributes.get(SDK_TEXT), _value(draft, span.attributes, SDK_CALLS)
    if not text and not calls:
        return given, []
    content = [{"type": "text", "text": text}] if text else []
    content += [{**(as_object(call) or {}), "type": "tool-call"} for call in as_list(calls) or []]
    return given, [Heard(SDK_TEXT, {"role": "assistant", "content": content})]


SPELLINGS: tuple[Callable[[Draft, Span], tuple[list[Heard], list[Heard]]], ...] = (
    _attributes,
    _whole,
    _events,
    _numbered,
    _contents,
    _sdk,
)


def _messages(draft: Draft, attributes: dict[str, Any], name: str) -> list[Heard]:
    """The messages of an attribute; parts are content in the usual spelling."""
    value = _value(draft, attributes, name)
    entries = [value] if as_object(value) is not None else as_list(value) or []
    found: list[Heard] = []
    for index, entry in enumerate(entries):
        message = as_object(entry)
        if message is not None and "parts" in message:
            rest = {key: item for key, item in message.items() if key != "parts"}
            found.append(Heard(f"{name}[{index}]", {**rest, "content": message["parts"]}))
        else:
            found.append(Heard(f"{name}[{index}]", entry))
    return found


def _entries(attributes: dict[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The numbered entries below a name, in order, as nested values."""
    tree: dict[str, Any] = {}
    for key, value in attributes.items():
        path = key.removeprefix(f"{name}.").split(".")
        if not key.startswith(f"{name}.") or not path[0].isdecimal() or len(path) > MOST_LEVELS:
            continue
        below = tree
        for part in path[:-1]:
            inner = as_object(below.get(part))
            if inner is None:
                inner = below[part] = {}
            below = inner
        below.setdefault(path[-1], value)
    for number in sorted(tree, key=lambda number: (len(number), number)):
        fields = as_object(_listed(tree[number])) or {}
        content = fields.get("content", fields.pop("contents", None))
        yield number, without_nulls({**fields, "content": _parts(content)})


def _listed(value: Any) -> Any:
    """A tree of numbered entries with lists where all keys are numbers, and without OpenInference's wrappers."""
    fields = as_object(value)
    if fields is None:
        return value
    made = {key: _listed(item) for key, item in fields.items()}
    if made and all(key.isdecimal() for key in made):
        return [made[key] for key in sorted(made, key=lambda key: (len(key), key))]
    if len(made) == 1 and (only := next(iter(made))) in WRAPPERS:
        return made[only]
    return made


def _parts(value: Any) -> Any:
    """The content; a text that is a JSON list of parts as that list."""
    found = _unpacked(value)
    entries = as_list(found)
    typed = entries is not None and all(isinstance((as_object(entry) or {}).get("type"), str) for entry in entries)
    return found if entries and typed else value


def _unpacked(value: Any) -> Any:
    """A text that is a JSON object or list as that; anything else as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return parse(value)[0]
    except NotJson:
        return value


def _value(draft: Draft, attributes: dict[str, Any], name: str) -> Any:
    """An attribute that is JSON, written as text or not."""
    value = attributes.get(name)
    if not isinstance(value, str):
        return value
    try:
        return parse(value)[0]
    except NotJson as error:
        cut = "; it may have been cut by a limit on attribute length" if error.syntax else ""
        draft.fault(name, f"{error.reason}{cut}")
        return None
