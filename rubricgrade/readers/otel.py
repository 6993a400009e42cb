"""OpenTelemetry GenAI spans and log records: OTLP JSON, or as the SDKs print them; one episode for each conversation.

Every call of a model was given what came before, so its messages repeat: in order of time each is added once.
"""

from __future__ import annotations

import json
from collections import deque
from operator import itemgetter
from typing import Any

from rubricgrade.errors import Fault, TrajectoryError
from rubricgrade.readers.draft import Draft
from rubricgrade.readers.message import add_message, leftovers
from rubricgrade.readers.otel_messages import INPUT, OUTPUT, Heard, heard, holds_messages, is_about
from rubricgrade.readers.otel_spans import Span, attributes_of, is_batch, spans_of
from rubricgrade.readers.shapes import as_label, as_list, as_object, as_text, without_nulls
from rubricgrade.readers.source import Document
from rubricgrade.readers.usage import total, usage_of
from rubricgrade.trajectory import Trajectory

# Spans around calls of a model: they say again what those say.
AROUND = {"invoke_agent", "invoke_workflow", "create_agent", "execute_tool"}
CALL_ID, CALL_RESULT = "gen_ai.tool.call.id", "gen_ai.tool.call.result"
LOOKED_AT = 100
Call = tuple[Span, list[Heard], list[Heard]]
"""A span, what its model was given, and what that put out."""
NAMED = {"gen_ai.response.model", "gen_ai.request.model", "gen_ai.agent.name", "gen_ai.conversation.id"}


def matches(value: Any) -> bool:
    """Whether it holds a span or a log record of GenAI."""
    fields = as_object(value)
    if fields is None:
        return any(matches(entry) for entry in (as_list(value) or [])[:LOOKED_AT] if as_object(entry))
    if is_batch(fields):
        return True
    events = [as_object(event) or {} for event in (as_list(fields.get("events")) or [])[:LOOKED_AT]]
    names = [event.get("name") for event in events] if "attributes" in fields else []
    attributes = attributes_of(fields.get("attributes")) if "attributes" in fields else {}
    return any(map(is_about, [*attributes, attributes.get("event.name"), fields.get("event_name"), *names]))


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
    spans = spans_of(values)
    # A conversation is named by some of its spans only: the others of the trace belong to it, if it is the only one.
    named: dict[str, set[str]] = {}
    for span in spans:
        if span.conversation:
            named.setdefault(span.trace, set()).add(span.conversation)
    groups: dict[str, list[Span]] = {}
    for span in spans:
        known = named.get(span.trace, set())
        key = span.conversation or (next(iter(known)) if len(known) == 1 else span.trace)
        groups.setdefault(key, []).append(span)
    drafts = {key: Draft() for key in groups}
    told = {key: _told(drafts[key], found) for key, found in groups.items()}
    spoken = [key for key in groups if told[key] or drafts[key].faults]
    if not spoken:
        message = f"no span holds messages ({INPUT}, {OUTPUT}); let the instrumentation record content"
        raise TrajectoryError(Fault(message, code="TR004"))
    return [_conversation(drafts[key], key or name, groups[key], told[key]) for key in spoken]


def _told(draft: Draft, spans: list[Span]) -> list[Call]:
    """The calls of a model in order of time; the spans around them if there are none."""
    found = [(span, *heard(draft, span)) for span in sorted(spans, key=lambda span: (span.start, span.index))]
    found = [entry for entry in found if entry[1] or entry[2]]
    calls = [entry for entry in found if entry[0].attributes.get("gen_ai.operation.name") not in AROUND]
    return calls if any(put_out for _, _, put_out in calls) else found


def _conversation(draft: Draft, name: str, spans: list[Span], calls: list[Call]) -> Trajectory:
    if len(calls) > 1:
        draft.warn("", f"{len(calls)} model calls were put together in order of time, each message once", "spans")
    for message, place in _merged(calls):
        add_message(draft, message, place)
    _add_results(draft, spans)
    for span in spans:
        if span.failure:
            draft.warn(f"span {span.index}", f"failed: {span.failure[:500]}", "failed")
    counted = [span for span in spans if span.attributes.get("gen_ai.operation.name") not in AROUND]
    last = calls[-1][0].attributes if calls else {}
    agent = as_text(last.get("gen_ai.agent.name"))
    about = {key: value for key, value in last.items() if not holds_messages(key) and key not in NAMED}
    return draft.finish(
        id=name,
        model=as_text(last.get("gen_ai.response.model")) or as_text(last.get("gen_ai.request.model")),
        usage=total(usage_of(span.attributes) for span in counted),
        meta=leftovers(draft, {"agent": {"name": agent} if agent else {}, "attributes": about}, ""),
    )


def _merged(calls: list[Call]) -> list[tuple[Any, str]]:
    """Every message once, with its place.

    What a call brings that is new stands before the next message that is known; else at the end.
    """
    known: dict[str, str] = {}
    merged: list[tuple[str, Any, str]] = []
    for span, given, put_out in calls:
        free: dict[str, deque[int]] = {}
        for index, (key, _, _) in enumerate(merged):
            free.setdefault(key, deque()).append(index)
        fresh: list[tuple[str, Any, str]] = []
        grown: list[tuple[int, list[tuple[str, Any, str]]]] = []
        for entry in (*given, *put_out):
            key = _key(entry.message, known)
            if found := free.get(key):
                grown.append((found.popleft(), fresh))
                fresh = []
                continue
            facts = _facts(span) if put_out and entry is put_out[0] else {}
            message = as_object(entry.message)
            fresh.append((key, entry.message if message is None else {**facts, **message}, entry.place))
        for index, before in sorted((place for place in grown if place[1]), key=itemgetter(0), reverse=True):
            merged[index:index] = before
        merged += fresh
    return [(message, place) for _, message, place in merged]


def _key(message: Any, known: dict[str, str]) -> str:
    """What a message says, in whatever spelling: the same when a later call is given what an earlier one put out."""
    raw = json.dumps(message, sort_keys=True)
    if raw not in known:
        draft = Draft()
        add_message(draft, message, "")
        said = [
            # Some instrumentations leave out what was said beside calls, when it is given back.
            [step.role, [[call.id, call.name, call.arguments or call.raw] for call in step.calls] or step.text.strip()]
            for step in draft.steps
        ]
        known[raw] = json.dumps(said, sort_keys=True) if said else raw
    return known[raw]


def _facts(span: Span) -> dict[str, Any]:
    """The time and the usage of what a call put out."""
    usage = {name: value for name, value in span.attributes.items() if ".usage." in name or ".token_count." in name}
    return without_nulls({"timestamp": span.end, "usage": usage})


def _add_results(draft: Draft, spans: list[Span]) -> None:
    """Add results of the last step's calls that no call of the model was given any more, from the tools' own spans."""
    wanted = {call.id for step in draft.steps[-1:] for call in step.calls}
    for span in spans:
        key, result = as_label(span.attributes.get(CALL_ID)), span.attributes.get(CALL_RESULT)
        if key in wanted and result is not None:
            wanted.discard(key)
            message = {"role": "tool", "tool_call_id": key, "content": result, "timestamp": span.end}
            add_message(draft, message, f"span {span.index}")
