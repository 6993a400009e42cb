"""What an Inspect sample's events say about its messages: when each came, what it cost. The rest of them is named."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rubricgrade.readers.draft import Draft
from rubricgrade.readers.shapes import as_list, as_object, as_text, without_nulls

# What happened to the sample's state, and the verdicts that stand in its scores: nothing that the agent did or saw.
BOOKKEEPING = {"sample_init", "span_begin", "span_end", "step", "state", "store", "score", "score_edit", "sandbox"}
LOGS = {"events", "events_data"}
PLACES_TOLD = 20


def without_events(sample: dict[str, Any]) -> dict[str, Any]:
    """The sample without its events."""
    return {key: value for key, value in sample.items() if key not in LOGS}


def facts_of_events(draft: Draft, messages: list[Any], events: list[Any]) -> dict[int, dict[str, Any]]:
    """The time and the usage of messages, by their place in the list.

    A model's reply is told by its id, in logs without ids by its order; a tool's result by the id of its call. What the
    events hold besides gets a warning.
    """
    by_id: dict[str, int] = {}
    replies: list[int] = []
    for index, message in enumerate(map(as_object, messages)):
        if not message:
            continue
        if message.get("role") == "assistant":
            replies.append(index)
        for name in ("id", "tool_call_id") if message.get("role") == "tool" else ("id",):
            if (key := as_text(message.get(name))) is not None:
                by_id.setdefault(key, index)
    found: dict[int, dict[str, Any]] = {}
    others: Counter[str] = Counter()
    unheard: list[str] = []
    calls = [number for number, event in enumerate(events) if (as_object(event) or {}).get("event") == "model"]
    for number, entry in enumerate(events):
        event = as_object(entry) or {}
        kind = str(event.get("event"))[:40]
        time = as_text(event.get("completed")) or as_text(event.get("timestamp"))
        if kind == "model":
            output = as_object(event.get("output")) or {}
            index = _reply(output, by_id)
            if index is None and len(calls) == len(replies):
                index = replies[calls.index(number)]
            if index is None:
                unheard.append(f"events[{number}]")
            else:
                found.setdefault(index, without_nulls({"timestamp": time, "usage": output.get("usage")}))
        elif kind == "tool":
            index = by_id.get(as_text(event.get("id")) or "")
            if index is not None and time is not None:
                found.setdefault(index, {"timestamp": time})
        elif kind not in BOOKKEEPING:
            others[kind] += 1
    if unheard:
        told = ", ".join(unheard[:PLACES_TOLD]) + " ..." * (len(unheard) > PLACES_TOLD)
        draft.warn("events", f"model calls whose replies are no message of the sample were left out: {told}", "events")
    if others:
        listed = ", ".join(f"{count} {kind}" for kind, count in sorted(others.items()))
        draft.warn("events", f"events beside the messages were left out: {listed}", "events")
    return found


def _reply(output: dict[str, Any], by_id: dict[str, int]) -> int | None:
    choice = as_object(next(iter(as_list(output.get("choices")) or []), None)) or {}
    return by_id.get(as_text((as_object(choice.get("message")) or {}).get("id")) or "")
