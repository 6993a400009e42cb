"""Spans and log records of OpenTelemetry as plain values: out of OTLP's nesting, or as SDKs print them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rubricgrade.readers.shapes import as_label, as_list, as_number, as_object, as_text, as_time

NESTS = ("resourceSpans", "scopeSpans", "spans", "resourceLogs", "scopeLogs", "logRecords")
BATCHES = {"resourceSpans", "resourceLogs"}
NANOSECONDS = 1e9
ERRORS = {"ERROR", "STATUS_CODE_ERROR", 2}


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a span, or a log record about it.

    Attributes:
        name: Such as ``gen_ai.user.message``.
        attributes: By name, with plain values.
        body: What a log record says; None in a span's event.
    """

    name: str
    attributes: dict[str, Any]
    body: Any = None


@dataclass(frozen=True, slots=True)
class Span:
    """What is read of a span.

    Attributes:
        attributes: By name, with plain values.
        trace: The trace's id.
        start: Seconds, or whatever orders spans of one file.
        index: Its place in the file.
        end: When it ended, ISO 8601; None if unknown.
        failure: Why it failed; empty if it did not.
        events: In order.
    """

    attributes: dict[str, Any]
    trace: str
    start: float
    index: int
    end: str | None = None
    failure: str = ""
    events: list[Event] = field(default_factory=list[Event])

    @property
    def conversation(self) -> str:
        """The conversation that it names; empty when it names none."""
        return as_label(self.attributes.get("gen_ai.conversation.id")) or ""


def is_batch(fields: dict[str, Any]) -> bool:
    """Whether it is a batch of OTLP."""
    return bool(BATCHES & fields.keys())


def spans_of(values: list[Any]) -> list[Span]:
    """Every span of a file, with the log records that belong to it; those of no span here make one of their own."""
    spans: dict[str, Span] = {}
    logs: list[tuple[str, str, float, Event]] = []
    for index, fields in enumerate(one for value in values for one in _records(value)):
        context = as_object(fields.get("context")) or fields
        trace = _id(as_label(fields.get("traceId")) or as_label(context.get("trace_id")) or "")
        own = _id(as_label(fields.get("spanId")) or as_label(context.get("span_id")) or "")
        if _is_log(fields):
            logs.append((trace, own, _seconds(fields), _event(fields)))
            continue
        spans[f"span {index}" if not own or own in spans else own] = _span(fields, trace, index)
    for trace, own, start, event in logs:
        home = spans.get(own)
        if home is None:
            key = own or f"trace {trace}"
            home = spans.setdefault(key, Span({}, trace, start, len(spans)))
        home.events.append(event)
    return list(spans.values())


def attributes_of(value: Any) -> dict[str, Any]:
    """Attributes as an object: OTLP writes a list of keys with typed values."""
    fields = as_object(value)
    if fields is not None:
        return fields
    entries = [as_object(entry) or {} for entry in as_list(value) or []]
    return {key: _plain(entry.get("value")) for entry in entries if (key := as_text(entry.get("key"))) is not None}


def _records(value: Any) -> Iterator[dict[str, Any]]:
    """The spans and log records in a JSON value: OTLP's nesting, a list, or one."""
    if (entries := as_list(value)) is not None:
        for entry in entries:
            yield from _records(entry)
        return
    fields = as_object(value) or {}
    nested = [fields[name] for name in NESTS if isinstance(fields.get(name), list)]
    if not nested:
        yield fields
    for entries in nested:
        yield from _records(entries)


def _is_log(fields: dict[str, Any]) -> bool:
    return "body" in fields or "event_name" in fields or "eventName" in fields


def _span(fields: dict[str, Any], trace: str, index: int) -> Span:
    end = fields.get("endTimeUnixNano", fields.get("end_time"))
    seconds = _nanoseconds(end)
    status = as_object(fields.get("status")) or {}
    code = status.get("code", status.get("status_code"))
    attributes = attributes_of(fields.get("attributes"))
    failed = isinstance(code, str | int) and code in ERRORS
    reason = as_text(status.get("message")) or as_text(status.get("description")) or "without a reason"
    events = [_event(event) for event in map(as_object, as_list(fields.get("events")) or []) if event]
    return Span(
        attributes=attributes,
        trace=trace,
        start=_seconds(fields),
        index=index,
        end=as_time(seconds) if seconds else as_time(end) if isinstance(end, str) and not end.isdecimal() else None,
        failure=reason if failed else "",
        events=events,
    )


def _event(fields: dict[str, Any]) -> Event:
    attributes = attributes_of(fields.get("attributes"))
    names = [*(fields.get(key) for key in ("name", "eventName", "event_name")), attributes.get("event.name")]
    name = next(filter(None, map(as_text, names)), "")
    body = fields.get("body")
    typed = as_object(body) or {}
    return Event(name, attributes, _plain(body) if len(typed) == 1 and next(iter(typed)).endswith("Value") else body)


def _id(label: str) -> str:
    return label.removeprefix("0x")


def _seconds(fields: dict[str, Any]) -> float:
    """When it began, in seconds since 1970; 0 when unknown."""
    for name in ("startTimeUnixNano", "timeUnixNano", "start_time", "startTime", "timestamp", "observedTimeUnixNano"):
        value = fields.get(name)
        if (seconds := _nanoseconds(value)) is not None:
            return seconds
        if isinstance(value, str):
            try:
                return datetime.fromisoformat(value).timestamp()
            except (ValueError, OverflowError):
                continue
    return 0.0


def _nanoseconds(value: Any) -> float | None:
    """Seconds from nanoseconds, a number or its digits."""
    digits = value if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 30 else ""  # noqa: PLR2004 - longer is no time
    number = float(digits) if digits else as_number(value)
    return None if number is None else number / NANOSECONDS


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
            return attributes_of((as_object(inner) or {}).get("values"))
        case _:
            return inner
