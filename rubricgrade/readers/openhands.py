"""OpenHands 0 event lists: actions and observations, paired by cause; and the rows of its evaluation output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from rubricgrade.readers.calls import call_entry, call_of
from rubricgrade.readers.content import content_of
from rubricgrade.readers.draft import Draft
from rubricgrade.readers.message import leftovers, remark
from rubricgrade.readers.records import facts_of, name_of
from rubricgrade.readers.shapes import as_label, as_list, as_object, as_text, as_time, without_nulls
from rubricgrade.readers.source import Document
from rubricgrade.readers.usage import beside, total, usage_of
from rubricgrade.trajectory import Call, Trajectory, Usage

HISTORIES = ("history", "trajectory")
# Book-keeping of the program; nothing that the agent did or saw.
STATE = {"change_agent_state", "agent_state_changed", "null"}
RECALL = "recall"
# Arguments of an action that say how it was made, or that are its text.
ABOUT = {
    "thought",
    "content",
    "translated_ipython_code",
    "impl_source",
    "security_risk",
    "confirmation_state",
    "hidden",
}


def is_event(value: Any) -> bool:
    """Whether it is an action or an observation."""
    fields = as_object(value) or {}
    return "source" in fields and bool({"action", "observation"} & fields.keys()) and "kind" not in fields


def _is_flat(value: Any) -> bool:
    """Whether it is an event as early versions wrote them into histories: without a source, all on one level."""
    fields = as_object(value) or {}
    kinds = [fields[name] for name in ("action", "observation") if name in fields]
    return len(kinds) == 1 and isinstance(kinds[0], str) and not {"source", "role", "kind"} & fields.keys()


def matches(value: Any) -> bool:
    """Whether it is a list of events, or a record that holds one."""
    events = _events(value)
    if any(map(is_event, events)):
        return True
    return as_object(value) is not None and "history" in value and any(map(_is_flat, events))


def read(document: Document) -> list[Trajectory]:
    """The episode.

    Raises:
        TrajectoryError: There is no action in it.
    """
    fields = as_object(document.value) or {}
    rest = {key: value for key, value in fields.items() if key not in HISTORIES}
    return [_episode(Draft(), _events(document.value), rest, document)]


def read_lines(documents: list[Document]) -> list[Trajectory]:
    """The episode of a JSONL file with one event on each line."""
    name = documents[0].name.rsplit("-", 1)[0]
    return [_episode(Draft(), [document.value for document in documents], {}, Document(None, name))]


def _episode(draft: Draft, events: list[Any], rest: dict[str, Any], document: Document) -> Trajectory:
    if any(map(_is_flat, events)):
        draft.warn("", "the events do not say who wrote them; told by their order", "no_source")
        events = list(_sourced(events))
    skipped: Counter[str] = Counter()
    turns: dict[str, list[dict[str, Any]]] = {}
    for event in map(as_object, events):
        if event and (turn := _turn_of(event)):
            turns.setdefault(turn, []).append(event)
    for index, entry in enumerate(events):
        event = as_object(entry)
        place = f"[{index}]"
        if event is None or not is_event(event):
            draft.warn(place, "is no event; left out", "unknown")
            continue
        kind = str(event.get("action", event.get("observation")))
        if kind in STATE or event.get("action") == RECALL:
            skipped[kind] += 1
            if reason := as_text((as_object(event.get("extras")) or {}).get("reason")):
                draft.warn(place, f"{kind}: {reason[:500]}", "reason")
        elif "observation" in event:
            _add_observation(draft, event, place)
        elif (turn := _turn_of(event)) is not None:
            # Parallel calls are several actions of one model response: all of them stand in its first one's step.
            if turns[turn][0] is event:
                _add_turn(draft, turns[turn], place)
        else:
            _add_action(draft, event, kind, place)
    if skipped:
        listed = ", ".join(f"{count} {kind}" for kind, count in sorted(skipped.items()))
        draft.warn("", f"events of the program's own state were left out: {listed}", "not_messages")
    facts = facts_of(rest)
    facts["meta"] = leftovers(draft, facts["meta"], "")
    facts["model"] = facts["model"] or next(filter(None, map(_model_of, events)), None)
    facts["usage"] = facts["usage"] or _spent(rest, events) or total(step.usage for step in draft.steps)
    return draft.finish(id=name_of(rest, document), **facts)


def _sourced(events: list[Any]) -> Iterator[Any]:
    """Flat events in the later spelling: the first message is the user's, and so is one that follows the agent's."""
    spoken = False
    for entry in events:
        event = as_object(entry)
        if event is None or not _is_flat(event):
            yield entry
            continue
        if (kind := event.get("observation")) is not None:
            extras = {key: value for key, value in event.items() if key not in {"observation", "content"}}
            yield {"source": "agent", "observation": kind, "content": event.get("content"), "extras": extras}
            spoken = False
            continue
        kind = event["action"]
        agent = kind != "message" or not (spoken or events[0] is entry)
        arguments = {key: value for key, value in event.items() if key != "action"}
        yield {"source": "agent" if agent else "user", "action": kind, "args": arguments}
        spoken = agent and kind == "message"


def _turn_of(event: dict[str, Any]) -> str | None:
    """What names the model's response that an action came from."""
    if "action" not in event:
        return None
    metadata = as_object(event.get("tool_call_metadata")) or {}
    response = as_object(metadata.get("model_response")) or {}
    return as_text(response.get("id")) or as_label(metadata.get("tool_call_id"))


def _model_of(entry: Any) -> str | None:
    """The model that gave the response behind an action."""
    metadata = as_object((as_object(entry) or {}).get("tool_call_metadata")) or {}
    return as_text((as_object(metadata.get("model_response")) or {}).get("model"))


def _spent(rest: dict[str, Any], events: list[Any]) -> Usage | None:
    """What was counted up to the end: in the row's metrics, else in the last event that has some."""
    listed = [rest.get("metrics"), *((as_object(entry) or {}).get("llm_metrics") for entry in reversed(events))]
    metrics = next(filter(None, map(as_object, listed)), None) or {}
    tokens = as_object(metrics.get("accumulated_token_usage")) or {}
    return usage_of({**tokens, "cost": metrics.get("accumulated_cost")})


def _add_turn(draft: Draft, events: list[dict[str, Any]], place: str) -> None:
    """Add one response of the model with all calls that became actions."""
    message: dict[str, Any] = {}
    calls: list[Call] = []
    usage, more = None, {}
    for event in events:
        metadata = as_object(event.get("tool_call_metadata")) or {}
        response = as_object(metadata.get("model_response")) or {}
        usage, more = usage or usage_of(response.get("usage")), more or beside(response.get("usage"))
        choice = as_object(next(iter(as_list(response.get("choices")) or []), None)) or {}
        message = message or as_object(choice.get("message")) or {}
        wanted = metadata.get("tool_call_id")
        entries = [as_object(entry) or {} for entry in as_list(message.get("tool_calls")) or []]
        entry = next((entry for entry in entries if entry.get("id") == wanted), None)
        call = call_entry(entry, draft, place) if entry is not None else None
        calls.append(call or _bare_call(draft, event, str(metadata.get("function_name") or event["action"]), place))
    first = events[0]
    arguments = as_object(first.get("args")) or {}
    said = content_of(message.get("content") or arguments.get("thought") or arguments.get("content"))
    for thought in _texts_of(events, "thought"):
        if not any(thought.strip() in part for part in _texts(said.parts)):
            said.add_text(thought)
    if reasoning := as_text(message.get("reasoning_content")):
        said.reasoning.append(reasoning)
    closing = as_text(arguments.get("final_thought"))
    if first["action"] == "finish" and closing and not any(closing in part for part in _texts(said.parts)):
        said.add_text(closing)
    said.split_thinking()
    remark(draft, said, place)
    draft.say(
        "assistant",
        said.parts,
        place=place,
        reasoning=said.thoughts,
        calls=calls,
        keys=[_key(event.get("id")) for event in events],
        time=as_time(first.get("timestamp")),
        usage=usage,
        extra={"usage": more} if more else {},
    )


def _add_action(draft: Draft, event: dict[str, Any], kind: str, place: str) -> None:
    """Add an action without a tool call of the model behind it: a message, or a command in the old text format."""
    arguments = as_object(event.get("args")) or {}
    agent = event.get("source") == "agent"
    said = content_of(arguments.get("content") or (arguments.get("thought") if agent else event.get("message")))
    for url in as_list(arguments.get("image_urls")) or []:
        said.add({"type": "image_url", "image_url": url})
    said.split_thinking()
    remark(draft, said, place)
    extra = leftovers(draft, {"tools": arguments.get("tools")}, place) if kind == "system" else {}
    talk = kind in {"message", "system"}
    role = "system" if kind == "system" else "assistant" if agent or not talk else "user"
    draft.say(
        role,
        said.parts,
        place=place,
        reasoning=said.thoughts,
        calls=[] if talk else [_bare_call(draft, event, kind, place)],
        keys=None if talk else [_key(event.get("id"))],
        time=as_time(event.get("timestamp")),
        extra=extra | ({} if agent or talk else {"source": str(event.get("source"))}),
    )


def _bare_call(draft: Draft, event: dict[str, Any], name: str, place: str) -> Call:
    """A call made of an action's own arguments, where the model's call is not kept."""
    arguments = as_object(event.get("args")) or {}
    given = without_nulls({key: value for key, value in arguments.items() if key not in ABOUT})
    return call_of(name, leftovers(draft, given, place), draft=draft, place=place)


def _add_observation(draft: Draft, event: dict[str, Any], place: str) -> None:
    seen = content_of(event.get("content") or event.get("message"))
    remark(draft, seen, place)
    extras = as_object(event.get("extras")) or {}
    kind = str(event.get("observation"))
    extra = leftovers(draft, {"observation": kind, **extras}, place)
    time, cause = as_time(event.get("timestamp")), _key(event.get("cause"))
    if kind == RECALL or (cause is None and not draft.waits()):
        draft.observe(seen.parts, time=time, extra=extra)
    else:
        failed = True if kind == "error" else None
        draft.answer(seen.parts, place=place, key=cause, failed=failed, time=time, extra=extra)


def _key(number: Any) -> str | None:
    label = as_label(number)
    return None if label is None else f"event {label}"


def _texts_of(events: list[dict[str, Any]], name: str) -> list[str]:
    """An argument of actions, where it is a text."""
    found = [as_text((as_object(event.get("args")) or {}).get(name)) for event in events]
    return [text for text in found if text is not None]


def _texts(parts: Any) -> list[str]:
    return [part.text for part in parts if part.type == "text"]


def _events(value: Any) -> list[Any]:
    """The events of a list or a record; in older ones they are pairs of an action and its observation."""
    fields = as_object(value) or {}
    listed = [value, *(fields.get(name) for name in HISTORIES)]
    flat: list[Any] = []
    for entry in next(filter(None, map(as_list, listed)), None) or []:
        pair = as_list(entry)
        flat.extend([entry] if pair is None else pair)
    return flat
