"""A trajectory as ATIF 1.7, valid by Harbor's own model, with its images as files beside it."""

from __future__ import annotations

import base64
import json
from datetime import datetime
from pathlib import Path
from typing import Any

from rubricgrade.digest import canonical
from rubricgrade.errors import StoreError, TrajectoryError
from rubricgrade.readers import atif
from rubricgrade.readers.native import replace_file
from rubricgrade.readers.shapes import as_list, as_object, as_text, without_nulls
from rubricgrade.readers.source import Document
from rubricgrade.trajectory import Image, Part, Step, Text, Trajectory, Usage
from rubricgrade.version import __version__

VERSION = "ATIF-v1.7"
SOURCES = {"system": "system", "user": "user", "assistant": "agent"}
IMAGE_ENDINGS = {"image/jpeg": "jpg", "image/png": "png", "image/gif": "gif", "image/webp": "webp"}


def to_atif(trajectory: Trajectory) -> dict[str, Any]:
    """The trajectory as an ATIF document.

    A tool step becomes an observation of the step that called it. What ATIF has no field for goes to ``extra``:
    arguments that are no object (``raw_arguments``), the error mark and the time of a result, calls of anybody but the
    agent. Images are named by path only; `write_atif` writes them.
    """
    steps: list[dict[str, Any]] = []
    homes: dict[int, dict[str, Any]] = {}
    home: dict[str, Any] | None
    for index, step in enumerate(trajectory.steps):
        if step.role != "tool":
            homes[index] = _step(step, index, len(steps) + 1)
            steps.append(homes[index])
            continue
        home = homes[step.answers[0]] if step.answers else next(reversed(homes.values()), None)
        if home is None:
            home = homes[index] = {"step_id": 1, "source": "system", "message": ""}
            steps.append(home)
        home.setdefault("observation", {"results": []})["results"].append(_result(step, trajectory))
    agent = as_object(trajectory.meta.get("agent")) or {}
    return without_nulls(
        {
            "schema_version": VERSION,
            "session_id": as_text(trajectory.meta.get("session_id")) or trajectory.id,
            "trajectory_id": trajectory.id,
            "agent": without_nulls(
                {
                    "name": as_text(agent.get("name")) or "unknown",
                    "version": as_text(agent.get("version")) or "unknown",
                    "model_name": trajectory.model,
                    "tool_definitions": _objects(agent.get("tool_definitions")),
                    "extra": as_object(agent.get("extra")),
                }
            ),
            "steps": steps,
            "final_metrics": _totals(trajectory.usage),
            "subagent_trajectories": _subagents(trajectory),
            "notes": f"written by rubricgrade {__version__}",
            "extra": without_nulls(
                {"task": trajectory.task, "task_id": trajectory.task_id, "reward": trajectory.reward}
            ),
        }
    )


def write_atif(trajectory: Trajectory, path: Path | str) -> Path:
    """Write a trajectory as ATIF, and its images to ``images/`` beside the file.

    Returns:
        The file.

    Raises:
        StoreError: It can't be written.
    """
    file = Path(path)
    images = {
        _image_path(part): part
        for step in trajectory.steps
        for part in step.content
        if isinstance(part, Image) and part.data
    }
    text = json.dumps(to_atif(trajectory), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        for name, image in images.items():
            (file.parent / name).parent.mkdir(exist_ok=True)
            replace_file(file.parent / name, base64.b64decode(image.data))
        replace_file(file, text.encode())
    except OSError as error:
        raise StoreError(f"{file}: can't be written: {error.strerror or error}") from error
    return file


def _step(step: Step, index: int, number: int) -> dict[str, Any]:
    fields: dict[str, Any] = {"step_id": number, "source": SOURCES[step.role], "message": _content(step.content)}
    extra = dict(step.extra)
    copied = extra.pop("is_copied_context", None)
    if step.time is not None:
        (fields if _is_time(step.time) else extra)["timestamp"] = step.time
    if step.role == "assistant":
        fields |= _agent_fields(step, index, extra)
    else:
        calls = _calls(step, index, extra)
        extra |= without_nulls({"reasoning": step.reasoning, "tool_calls": calls})
    if isinstance(copied, bool):
        fields["is_copied_context"] = copied
    return fields | without_nulls({"extra": extra})


def _agent_fields(step: Step, index: int, extra: dict[str, Any]) -> dict[str, Any]:
    model = extra.pop("model_name", None)
    metrics = dict(_metrics(step.usage)) | without_nulls({"extra": as_object(extra.pop("metrics", None))})
    return without_nulls(
        {
            "model_name": model if isinstance(model, str) else None,
            "reasoning_content": step.reasoning,
            "tool_calls": _calls(step, index, extra),
            "metrics": metrics,
        }
    )


def _calls(step: Step, index: int, extra: dict[str, Any]) -> list[dict[str, Any]]:
    """The calls of a step, with what they have besides, which is taken out of the step's extra."""
    made: list[dict[str, Any]] = []
    for number, call in enumerate(step.calls, 1):
        about = as_object(extra.get(f"call_{number}"))
        if about is not None:
            del extra[f"call_{number}"]
        more = {**(about or {}), **({} if call.raw is None else {"raw_arguments": call.raw})}
        made.append(
            {
                "tool_call_id": _call_id(step, index, number),
                "function_name": call.name,
                "arguments": call.arguments or {},
                **without_nulls({"extra": more}),
            }
        )
    return made


def _subagents(trajectory: Trajectory) -> list[dict[str, Any]]:
    """The sub-agents of a trajectory that came from ATIF, each written anew; one that is none is left out."""
    made: dict[str, dict[str, Any]] = {}
    for entry in map(as_object, as_list(trajectory.meta.get("subagent_trajectories")) or []):
        name = as_text((entry or {}).get("trajectory_id"))
        if name is None or name in made:
            continue
        try:
            [read] = atif.read(Document(entry, name))
        except TrajectoryError:
            continue
        made[name] = {**to_atif(read), "trajectory_id": name}
    return [*made.values()]


def _call_id(step: Step, index: int, number: int) -> str:
    """The call's own id if no other call of its step has it, else one made of its address."""
    own = step.calls[number - 1].id
    if own is not None and [call.id for call in step.calls].count(own) == 1:
        return own
    return f"step_{index}_call_{number}"


def _result(step: Step, trajectory: Trajectory) -> dict[str, Any]:
    extra = dict(step.extra)
    reference = extra.pop("subagent_trajectory_ref") if _resolves(extra.get("subagent_trajectory_ref")) else None
    extra |= without_nulls({"is_error": step.failed, "timestamp": step.time})
    source = None
    if step.answers is not None:
        asked, number = step.answers
        caller = trajectory.steps[asked]
        source = _call_id(caller, asked, number) if caller.role == "assistant" else None
    fields = {"source_call_id": source, "subagent_trajectory_ref": reference, "extra": extra}
    return {"content": _content(step.content), **without_nulls(fields)}


def _objects(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in map(as_object, as_list(value) or []) if entry is not None]


def _resolves(reference: Any) -> bool:
    """Whether it is a list of references to sub-agents as ATIF 1.7 has them."""
    entries = [as_object(entry) or {} for entry in as_list(reference) or []]
    return bool(entries) and all(entry.get("trajectory_id") or entry.get("trajectory_path") for entry in entries)


def _content(parts: tuple[Part, ...]) -> str | list[dict[str, Any]]:
    """One text, or parts when there are images that ATIF can name; anything else as the text that stands for it."""
    if not any(isinstance(part, Image) and _image_path(part) for part in parts):
        return "\n".join(_as_text(part) for part in parts)
    return [_part(part) for part in parts]


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, Image) and (path := _image_path(part)):
        return {"type": "image", "source": {"media_type": part.media_type, "path": path}}
    return {"type": "text", "text": _as_text(part)}


def _as_text(part: Part) -> str:
    match part:
        case Text():
            return part.text
        case Image():
            return part.placeholder
        case _:
            return canonical(part.value).decode()


def _image_path(image: Image) -> str:
    """Where the image lies relative to the file, or its URL; empty when ATIF can't hold it."""
    ending = IMAGE_ENDINGS.get(image.media_type)
    if ending is None:
        return ""
    return f"images/{image.sha256[:16]}.{ending}" if image.data else image.url


def _metrics(usage: Usage | None) -> dict[str, Any]:
    if usage is None:
        return {}
    return without_nulls(
        {
            "prompt_tokens": usage.input_tokens,
            "completion_tokens": usage.output_tokens,
            "cached_tokens": usage.cached_tokens,
            "cost_usd": usage.cost,
        }
    )


def _totals(usage: Usage | None) -> dict[str, Any]:
    return {f"total_{key}": value for key, value in _metrics(usage).items()}


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
