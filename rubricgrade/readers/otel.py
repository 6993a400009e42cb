"""OpenTelemetry GenAI spans: OTLP JSON, or spans as the SDKs print them; one episode for each conversation.

The last call of the model in a conversation was given all that came before, so it alone is read; other spans give only
their usage.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rubricgrade.errors import Fault, TrajectoryError
from rubricgrade.readers.draft import Draft
from rubricgrade.readers.jsontext import NotJson, parse
from rubricgrade.readers.message import add_message
from rubricgrade.readers.shapes import as_label, as_list, as_number, as_object, as_text
from rubricgrade.readers.source import Document
from rubricgrade.readers.usage import total, usage_of
from rubricgrade.trajectory import Trajectory

INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
ALL = "pydantic_ai.all_messages"
INSTRUCTIONS = "gen_ai.system_instructions"
PREFIX = "gen_ai."
NANOSECONDS = 1e9
MESSAGES = (INPUT, OUTPUT, ALL)


@dataclass(frozen=True, slots=True)
class Span:
    """What is read of a span.

    Attributes:
        attributes: By name, with plain values.
        trace: The trace's id.
        start: Seconds, or whatever orders spans of one file.
        index: Its place in the file.
    """

    attributes: dict[str, Any]
    trace: str
    start: float
    index: int

    @property
    def conversation(self) -> str:
        """What it belongs to: the conversation it names, else its trace."""
        return as_label(self.attributes.get("gen_ai.conversation.id")) or self.trace

    @property
    def speaks(self) -> bool:
        """Whether it holds messages."""
        return any(name in self.attributes for name in MESSAGES)


def matches(value: Any) -> bool:
    """Whether it holds a span with an attribute of GenAI."""
    fields = as_object(value)
    if fields is None:
        return any(matches(entry) for entry in (as_list(value) or [])[:100] if as_object(entry))
    if "resourceSpans" in fields:
        return True
    names = _attributes(fields.get("attributes")) if "attributes" in fields else {}
    return any(name.startswith(PREFIX) or name == ALL for name in names)


def read(document: Document) -> list[Trajectory]:
    """The conversations of a JSON file.

    Raises:
        TrajectoryError: No span holds messages, or they can't be read.
    """
    return _conversations([document.value], document.name)


def read_lines(documents: list[Document]) -> list[Trajectory]:
    """The conversations of a JSONL file of spans.

    Raises:
        TrajectoryError: No span holds messages, or they can't be read.
    """
    return _conversations([document.value for document in documents], documents[0].name.rsplit("-", 1)[0])


def _conversations(values: list[Any], name: str) -> list[Trajectory]:
    groups: dict[str, list[Span]] = {}
    for index, fields in enumerate(fields for value in values for fields in _spans(value)):
        span = _span(fields, index)
        groups.setdefault(span.conversation, []).append(span)
    spoken = {key: spans for key, spans in groups.items() if any(span.speaks for span in spans)}
    if not spoken:
        message = f"no span holds messages ({INPUT}, {OUTPUT}); let the instrumentation record content"
        raise TrajectoryError(Fault(message, code="TR004"))
    return [_conversation(key or name, spans) for key, spans in spoken.items()]


def _conversation(name: str, spans: list[Span]) -> Trajectory:
    draft = Draft()
    speaking = [span for span in spans if span.speaks]
    calls = [span for span in speaking if OUTPUT in span.attributes] or speaking
    last = max(calls, key=lambda span: (span.start, span.index))
    if len(calls) > 1:
        draft.warn("", f"{len(calls)} model calls; the last one was read, which was given what came before", "spans")
    if instructions := _value(draft, last.attributes, INSTRUCTIONS):
        add_message(draft, {"role": "system", "content": instructions}, INSTRUCTIONS)
    names = (INPUT, OUTPUT) if OUTPUT in last.attributes or INPUT in last.attributes else (ALL,)
    for attribute in names:
        for index, entry in enumerate(as_list(_value(draft, last.attributes, attribute)) or []):
            message = as_object(entry)
            if message is not None and "parts" in message:
                rest = {key: value for key, value in message.items() if key != "parts"}
                entry = {**rest, "content": message["parts"]}  # noqa: PLW2901 - the same message, in the usual spelling
            add_message(draft, entry, f"{attribute}[{index}]")
    model = last.attributes.get("gen_ai.response.model") or last.attributes.get("gen_ai.request.model")
    counted = [span for span in spans if span.attributes.get("gen_ai.operation.name") != "invoke_agent"]
    agent = as_text(last.attributes.get("gen_ai.agent.name"))
    return draft.finish(
        id=name,
        model=as_text(model),
        usage=total(usage_of(span.attributes) for span in counted),
        meta={"agent": {"name": agent}} if agent else {},
    )


def _spans(value: Any) -> Iterator[dict[str, Any]]:
    """The spans in a JSON value: OTLP's nesting, a list, or one."""
    if (entries := as_list(value)) is not None:
        for entry in entries:
            yield from _spans(entry)
        return
    fields = as_object(value) or {}
    nested = next((fields[name] for name in ("resourceSpans", "scopeSpans", "spans") if name in fields), None)
    if nested is None:
        yield fields
    else:
        yield from _spans(as_list(nested) or [])


def _span(fields: dict[str, Any], index: int) -> Span:
    context = as_object(fields.get("context")) or fields
    trace = as_label(fields.get("traceId")) or as_label(context.get("trace_id")) or ""
    nanoseconds = fields.get("startTimeUnixNano")
    digits = nanoseconds if isinstance(nanoseconds, str) and nanoseconds.isdecimal() and len(nanoseconds) < 30 else ""  # noqa: PLR2004 - longer is no time
    start = float(digits) if digits else as_number(nanoseconds)
    return Span(_attributes(fields.get("attributes")), trace, (start or 0.0) / NANOSECONDS, index)


def _attributes(value: Any) -> dict[str, Any]:
    """Attributes as an object: OTLP writes a list of keys with typed values."""
    fields = as_object(value)
    if fields is not None:
        return fields
    entries = [as_object(entry) or {} for entry in as_list(value) or []]
    return {key: _plain(entry.get("value")) for entry in entries if (key := as_text(entry.get("key"))) is not None}


def _plain(value: Any) -> Any:
    """An OTLP value without its type."""
    fields = as_object(value) or {}
    kind, inner = next(iter(fields.items()), ("", None))
    match kind:
        case "intValue" if isinstance(inner, str) and inner.lstrip("-").isdecimal() and len(inner) < 20:  # noqa: PLR2004 - 64 bits
            return int(inner)
        case "arrayValue":
            return [_plain(entry) for entry in as_list((as_object(inner) or {}).get("values")) or []]
        case "kvlistValue":
            return _attributes((as_object(inner) or {}).get("values"))
        case _:
            return inner


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
