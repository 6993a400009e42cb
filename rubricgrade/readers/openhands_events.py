"""OpenHands SDK (version 1) conversations: one event on each line of a JSONL file, or a list of events."""

from __future__ import annotations

from typing import Any

from rubricgrade.readers.calls import call_entry, call_of
from rubricgrade.readers.content import Content, content_of
from rubricgrade.readers.draft import Draft
from rubricgrade.readers.message import add_message, leftovers, remark
from rubricgrade.readers.records import facts_of, name_of
from rubricgrade.readers.shapes import as_label, as_list, as_object, as_text, as_time
from rubricgrade.readers.source import Document, told_lines, told_places
from rubricgrade.readers.usage import total, usage_of
from rubricgrade.trajectory import Call, Text, Trajectory, Usage

EVENTS = {
    "ActionEvent",
    "ObservationEvent",
    "MessageEvent",
    "SystemPromptEvent",
    "AgentErrorEvent",
    "UserRejectObservation",
}
FINISH = "finish"


def is_event(value: Any) -> bool:
    """Whether it is an event that says what an agent or a person did."""
    fields = as_object(value) or {}
    return as_text(fields.get("kind")) in EVENTS and "source" in fields


def matches(value: Any) -> bool:
    """Whether it is a list of events, or a row of an evaluation with such a history."""
    return any(is_event(event) for event in _events(value))


def read(document: Document) -> list[Trajectory]:
    """The conversation of a list of events, or of a row that holds one.

    Raises:
        TrajectoryError: An event can't be read, or none of them is a message or an action.
    """
    rest = {key: value for key, value in (as_object(document.value) or {}).items() if key != "history"}
    return [_conversation([(0, event) for event in _events(document.value)], rest, document)]


def read_lines(documents: list[Document]) -> list[Trajectory]:
    """The conversation of a JSONL file.

    Raises:
        TrajectoryError: An event can't be read, or none of them is a message or an action.
    """
    events = [(document.line, document.value) for document in documents]
    return [_conversation(events, {}, Document(None, documents[0].name.rsplit("-", 1)[0]))]


def _conversation(events: list[tuple[int, Any]], rest: dict[str, Any], document: Document) -> Trajectory:
    draft = Draft()
    actions = [event for _, entry in events if (event := as_object(entry)) and event.get("kind") == "ActionEvent"]
    turns: dict[str, list[dict[str, Any]]] = {}
    for action in actions:
        turns.setdefault(_turn_of(action), []).append(action)
    finished = {as_text(action.get("tool_call_id")) for action in actions if action.get("tool_name") == FINISH}
    skipped: dict[str, list[int]] = {}
    spent: dict[str, Usage | None] = {}
    for index, (line, entry) in enumerate(events):
        event = as_object(entry) or {}
        kind = str(event.get("kind"))
        draft.line, place = line, "" if line else f"[{index}]"
        match kind:
            case "ActionEvent":
                turn = turns[_turn_of(event)]
                if turn[0] is event:
                    _add_turn(draft, turn, place)
            case "ObservationEvent" if as_text(event.get("tool_call_id")) in finished - {None}:
                # It repeats the closing message, which would stand after the agent's last word.
                draft.skip(as_text(event.get("tool_call_id")))
                skipped.setdefault("result of finish", []).append(line or index)
            case "ObservationEvent":
                _add_observation(draft, event, place)
            case "AgentErrorEvent" | "UserRejectObservation":
                reason = event.get("error") or event.get("rejection_reason")
                _answer(draft, event, content_of(reason), place, failed=True, extra={"kind": kind})
            case "MessageEvent":
                message = {"timestamp": event.get("timestamp"), **(as_object(event.get("llm_message")) or {})}
                added = as_list(event.get("extended_content"))
                if added and (said := as_list(message.get("content"))) is not None:
                    message["content"] = said + added
                add_message(draft, message, f"{place}.llm_message".lstrip("."))
            case "SystemPromptEvent":
                prompt = content_of(event.get("system_prompt"))
                prompt.parts += content_of(event.get("dynamic_context")).parts
                extra = leftovers(draft, {"tools": event.get("tools")}, place)
                draft.say("system", prompt.parts, place=place, time=as_time(event.get("timestamp")), extra=extra)
            case _:
                skipped.setdefault(kind[:60], []).append(line or index)
                if detail := as_text(event.get("detail")) or as_text(event.get("summary")):
                    draft.warn(place, f"{kind[:60]} is no step: {detail[:500]}", "not_messages")
                if event.get("key") == "stats":
                    spent = _spent(event.get("value"))
    draft.line = 0
    if skipped:
        told = told_lines if events[0][0] else told_places
        listed = ", ".join(f"{len(found)} {kind} ({told(found)})" for kind, found in sorted(skipped.items()))
        draft.warn("", f"events that are no steps were left out: {listed}", "not_messages")
    facts = facts_of(rest)
    facts["model"] = facts["model"] or next((model for model, usage in spent.items() if usage is not None), None)
    facts["usage"] = facts["usage"] or total(spent.values())
    facts["meta"] = leftovers(draft, {"agent": {"name": "openhands-sdk"}, **facts["meta"]}, "")
    return draft.finish(id=name_of(rest, document), **facts)


def _events(value: Any) -> list[Any]:
    return as_list(value) or as_list((as_object(value) or {}).get("history")) or []


def _turn_of(action: dict[str, Any]) -> str:
    """What names the model's response that an action came from: parallel calls share it."""
    return as_text(action.get("llm_response_id")) or as_text(action.get("id")) or str(id(action))


def _add_turn(draft: Draft, actions: list[dict[str, Any]], place: str) -> None:
    """Add one response of the model with all of its calls."""
    first = actions[0]
    said = content_of(first.get("thought") or None)
    said.split_thinking()
    if reasoning := as_text(first.get("reasoning_content")):
        said.reasoning.append(reasoning)
    for block in as_list(first.get("thinking_blocks")) or []:
        said.add({**(as_object(block) or {}), "type": "thinking"})
    calls: list[Call] = []
    for action in actions:
        entry = as_object(action.get("tool_call"))
        call = call_entry(entry, draft, place) if entry is not None else None
        if call is None:
            arguments = {key: value for key, value in (as_object(action.get("action")) or {}).items() if key != "kind"}
            name, call_id = action.get("tool_name"), action.get("tool_call_id")
            call = call_of(name, arguments, call_id=call_id, draft=draft, place=place)
        calls.append(call)
        closing = as_text((call.arguments or {}).get("message"))
        if call.name == FINISH and closing is not None and Text(text=closing) not in said.parts:
            said.add_text(closing)
    remark(draft, said, place)
    draft.say(
        "assistant",
        said.parts,
        place=place,
        reasoning=said.thoughts,
        calls=calls,
        keys=[as_label(action.get("tool_call_id")) for action in actions],
        time=as_time(first.get("timestamp")),
    )


def _add_observation(draft: Draft, event: dict[str, Any], place: str) -> None:
    observation = dict(as_object(event.get("observation")) or {})
    seen = content_of(observation.pop("content", None))
    failed = observation.pop("is_error", None)
    rest = leftovers(draft, {key: value for key, value in observation.items() if key not in {"kind", "command"}}, place)
    _answer(draft, event, seen, place, failed=failed if isinstance(failed, bool) else None, extra=rest)


def _answer(
    draft: Draft, event: dict[str, Any], seen: Content, place: str, *, failed: bool | None, extra: dict[str, Any]
) -> None:
    remark(draft, seen, place)
    draft.answer(
        seen.parts,
        place=place,
        key=as_label(event.get("tool_call_id")),
        tool=as_text(event.get("tool_name")),
        failed=failed,
        time=as_time(event.get("timestamp")),
        extra=extra,
    )


def _spent(stats: Any) -> dict[str, Usage | None]:
    """Tokens and money of the conversation so far, by model."""
    metrics = as_object((as_object(stats) or {}).get("usage_to_metrics")) or {}
    spent: dict[str, Usage | None] = {}
    for entry in map(as_object, metrics.values()):
        if entry:
            tokens = as_object(entry.get("accumulated_token_usage")) or {}
            model = as_text(entry.get("model_name")) or "unknown"
            spent[model] = total([spent.get(model), usage_of({**tokens, "cost": entry.get("accumulated_cost")})])
    return spent
