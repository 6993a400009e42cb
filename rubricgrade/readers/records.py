"""What a record says about its episode besides the messages: task, attempt, model, reward, usage, and its name."""

from __future__ import annotations

from typing import Any

from rubricgrade.readers.draft import label_of
from rubricgrade.readers.shapes import as_name, as_number, as_object, as_text, as_whole, take
from rubricgrade.readers.source import Document
from rubricgrade.readers.usage import beside, usage_of

IDS = ("id", "trajectory_id", "session_id", "conversation_id", "uuid")
SAMPLES = ("sample", "trial", "attempt")
TASKS = ("task_id", "task", "instance_id", "example_id")


def facts_of(fields: dict[str, Any]) -> dict[str, Any]:
    """Facts about an episode, from a record's other fields; all that has no place of its own goes to `meta`."""
    rest = dict(fields)
    info = as_object(rest.get("info")) or {}
    config = as_object((as_object(info.get("config")) or {}).get("model")) or {}
    usage, spent = usage_of(rest.get("usage")), usage_of(info.get("model_stats"))
    if usage is not None and (more := beside(rest.pop("usage"))):
        rest["usage"] = more
    judged = as_object(rest.get("reward_info")) or {}
    samples = [take(rest, name, as_whole) for name in SAMPLES]
    names = [name for name in TASKS if as_name(rest.get(name)) is not None]
    reward = take(rest, "reward", as_number)
    return {
        "task_id": take(rest, names[0], as_name) if names else None,
        "task": take(rest, "task", as_text) or take(rest, "instruction", as_text),
        "sample": next((sample for sample in samples if sample is not None), None),
        "model": take(rest, "model", as_text) or as_text(config.get("model_name")),
        "reward": as_number(judged.get("reward")) if reward is None else reward,
        "usage": usage or spent,
        "meta": rest,
    }


def name_of(fields: dict[str, Any], document: Document) -> str:
    """What the episode is called: its own name, else its task and attempt, else its place in the file."""
    if (own := label_of(fields, *IDS)) is not None:
        return own
    task = next((name for name in (as_name(fields.get(name)) for name in TASKS) if name is not None), None)
    sample = label_of(fields, *SAMPLES)
    if task is not None and sample is not None:
        run = label_of(fields, "run")
        return f"{run}-{task}-{sample}" if run else f"{task}-{sample}"
    return label_of(fields, "instance_id") or document.name
