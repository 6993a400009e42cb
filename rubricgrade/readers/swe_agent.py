"""SWE-agent ``.traj`` files: the message history, or where there is none, the list of thoughts and actions."""

from __future__ import annotations

from typing import Any

from rubricgrade.readers.content import content_of
from rubricgrade.readers.draft import Draft
from rubricgrade.readers.message import add_message, leftovers, remark
from rubricgrade.readers.shapes import as_list, as_object, as_text
from rubricgrade.readers.source import Document
from rubricgrade.readers.usage import usage_of
from rubricgrade.trajectory import Call, Trajectory

# What the history says in other words already.
REPEATED = {"thought", "message_type"}
USUAL_AGENT = {"main", "primary"}


def matches(value: Any) -> bool:
    """Whether it has a history of messages, or a list of actions with observations."""
    fields = as_object(value) or {}
    first = as_object(next(iter(as_list(fields.get("trajectory")) or []), None)) or {}
    entry = as_object(next(iter(as_list(fields.get("history")) or []), None)) or {}
    return {"action", "observation"} <= first.keys() or "role" in entry


def read(document: Document) -> list[Trajectory]:
    """The episode, with the submitted patch and the exit status in `meta`.

    Raises:
        TrajectoryError: A message can't be read, or there is none.
    """
    draft = Draft()
    fields = as_object(document.value) or {}
    history, actions = as_list(fields.get("history")) or [], as_list(fields.get("trajectory")) or []
    for index, entry in enumerate(history):
        message = as_object(entry)
        kept = entry if message is None else {key: item for key, item in message.items() if key not in REPEATED}
        if message is not None and as_text(message.get("agent")) in USUAL_AGENT:
            del kept["agent"]
        add_message(draft, kept, f"history[{index}]")
    if not history:
        for index, entry in enumerate(actions):
            _add_action(draft, as_object(entry) or {}, f"trajectory[{index}]")
    elif actions:
        _add_unheard(draft, actions)
    info = as_object(fields.get("info")) or {}
    replay = _object_of(fields.get("replay_config"))
    problem = as_object(replay.get("problem_statement")) or {}
    model = as_object((as_object(replay.get("agent")) or {}).get("model")) or {}
    meta = {key: value for key, value in fields.items() if key not in {"history", "trajectory"}}
    return [
        draft.finish(
            id=as_text(fields.get("instance_id")) or as_text(problem.get("id")) or document.name,
            task=as_text(problem.get("text")),
            task_id=as_text(problem.get("id")),
            model=as_text(model.get("name")),
            usage=usage_of(info.get("model_stats")),
            meta=leftovers(draft, meta, ""),
        )
    ]


def _add_unheard(draft: Draft, actions: list[Any]) -> None:
    """Add the closing turns that the history lacks; name others that it has in other words."""
    said = {step.text.strip() for step in draft.steps if step.role == "assistant"}
    turns = [as_object(entry) or {} for entry in actions]
    heard = [
        any(text in said for text in (_stripped(turn, "response"), _stripped(turn, "thought")) if text)
        or not (turn.get("response") or turn.get("thought"))
        for turn in turns
    ]
    end = max((index for index, known in enumerate(heard) if known), default=-1) + 1
    draft.warn("trajectory", "repeats the history, with times and states; left out", "repeated")
    for index, known in enumerate(heard[:end]):
        if not known:
            draft.warn(f"trajectory[{index}]", "is told in other words than in the history; left out", "repeated")
    for index, turn in enumerate(turns[end:], end):
        draft.warn(f"trajectory[{index}]", "is not in the history; it was added at the end", "added")
        _add_action(draft, turn, f"trajectory[{index}]")


def _stripped(turn: dict[str, Any], name: str) -> str:
    return (as_text(turn.get(name)) or "").strip()


def _add_action(draft: Draft, step: dict[str, Any], place: str) -> None:
    """Add one turn of a file without history: what the model said, the command, what came back."""
    said = content_of(step.get("response") or step.get("thought"))
    remark(draft, said, place)
    action = as_text(step.get("action"))
    calls = [Call(name="command", arguments={"command": action})] if action else []
    known = {"response", "thought", "action", "observation", "query", "messages"}
    extra = leftovers(draft, {key: value for key, value in step.items() if key not in known}, place)
    draft.say("assistant", said.parts, place=place, calls=calls, extra=extra)
    seen = content_of(step.get("observation"))
    remark(draft, seen, place)
    if action:
        draft.answer(seen.parts, place=place)
    elif seen.parts:
        draft.observe(seen.parts)


def _object_of(value: Any) -> dict[str, Any]:
    """The replay configuration: an object, or nothing (some versions keep it as a text)."""
    return as_object(value) or {}
