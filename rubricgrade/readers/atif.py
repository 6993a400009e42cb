"""Harbor's Agent Trajectory Interchange Format (ATIF) 1.0 to 1.8, with continuations in further files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rubricgrade.errors import Fault, TrajectoryError
from rubricgrade.plural import count
from rubricgrade.readers.atif_images import add_images
from rubricgrade.readers.calls import call_of
from rubricgrade.readers.content import content_of
from rubricgrade.readers.draft import Draft, label_of
from rubricgrade.readers.episode import inside
from rubricgrade.readers.message import leftovers, remark
from rubricgrade.readers.shapes import as_list, as_name, as_number, as_object, as_text, as_time
from rubricgrade.readers.source import Document, read_bytes, read_documents
from rubricgrade.readers.usage import usage_of
from rubricgrade.trajectory import Call, Role, Trajectory

SOURCES: dict[str, Role] = {"system": "system", "user": "user", "agent": "assistant"}
KNOWN = {f"ATIF-v1.{minor}" for minor in range(9)}
MOST_FILES = 100
FACTS = {"schema_version", "steps", "agent", "final_metrics", "continued_trajectory_ref"}


def matches(value: Any) -> bool:
    """Whether it says that it is ATIF, or has steps with ATIF's sources."""
    fields = as_object(value) or {}
    version = fields.get("schema_version")
    first = as_object(next(iter(as_list(fields.get("steps")) or []), None)) or {}
    return (isinstance(version, str) and version.startswith("ATIF")) or as_text(first.get("source")) in SOURCES


def read(document: Document) -> list[Trajectory]:
    """The trajectory, with its continuations appended.

    Raises:
        TrajectoryError: A step can't be read, or there is none, or a continuation is broken.
    """
    draft = Draft()
    fields = as_object(document.value) or {}
    version = as_text(fields.get("schema_version")) or ""
    if version not in KNOWN:
        draft.warn("schema_version", f"{version[:40]!r} is unknown; read as the newest known version", "version")
    _add_steps(draft, fields, "", copied_too=True)
    add_images(draft, 0, document.file)
    last = _continue(draft, fields, document.file)
    agent = as_object(fields.get("agent")) or {}
    totals = {key.removeprefix("total_"): value for key, value in (as_object(last.get("final_metrics")) or {}).items()}
    meta = {key: value for key, value in fields.items() if key not in FACTS} | {"agent": agent}
    if (more := totals.get("extra")) is not None:
        meta["final_metrics"] = more
    about = as_object(fields.get("extra")) or {}
    return [
        draft.finish(
            id=label_of(fields, "trajectory_id", "session_id") or document.name,
            task=as_text(about.get("task")),
            task_id=as_name(about.get("task_id")),
            reward=as_number(about.get("reward")),
            model=as_text(agent.get("model_name")),
            usage=usage_of(totals),
            meta=leftovers(draft, meta, ""),
        )
    ]


def _continue(draft: Draft, fields: dict[str, Any], file: Path | None) -> dict[str, Any]:
    """Append the steps of the files that continue this one; the root of the last one."""
    seen: set[Path] = set()
    while (name := as_text(fields.get("continued_trajectory_ref"))) is not None:
        following = _beside(file, name) if file is not None else None
        if file is None or following is None:
            draft.warn("continued_trajectory_ref", f"{name!r} is not there; the end of the episode is missing", "cut")
            return fields
        if following in seen or len(seen) > MOST_FILES:
            raise TrajectoryError(Fault(f"continued_trajectory_ref: {name!r} leads in a circle", code="TR003"))
        seen.add(following)
        source = read_documents(following, read_bytes(following))
        if source.faults:
            raise TrajectoryError(source.faults)
        fields, file = as_object(source.documents[0].value) or {}, following
        before = len(draft.steps)
        _add_steps(draft, fields, f"{following.name}: ", copied_too=False)
        add_images(draft, before, following)
    return fields


def _beside(file: Path, name: str) -> Path | None:
    """The continuation: named as it says, or with the same beginning as this file where that was put before it."""
    usual = "trajectory"
    candidates = [name]
    if name.startswith(usual) and usual in file.name:
        candidates.append(file.name[: file.name.rindex(usual)] + name)
    places = (inside(file.parent, candidate) for candidate in candidates)
    return next((place for place in places if place is not None and place.is_file() and place != file), None)


def _add_steps(draft: Draft, fields: dict[str, Any], prefix: str, *, copied_too: bool) -> None:
    """Add the steps of one file; of copied context only what has not been said yet, unless `copied_too`."""
    said = {(step.role, step.text) for step in draft.steps}
    left_out = 0
    for index, entry in enumerate(as_list(fields.get("steps")) or []):
        place = f"{prefix}steps[{index}]"
        step = dict(as_object(entry) or {})
        source = step.pop("source", None)
        role = SOURCES.get(source) if isinstance(source, str) else None
        if role is None:
            draft.fault(place, f"source is {str(source)[:40]!r}; it must be one of {', '.join(SOURCES)}")
            continue
        copied = step.get("is_copied_context") is True and not copied_too
        if copied and (role, as_text(step.get("message")) or "") in said:
            left_out += 1
            continue
        _add_step(draft, role, step, place)
    if left_out:
        draft.warn(
            f"{prefix}steps", f"{count(left_out, 'step')} of copied context left out: the first part has them", "copied"
        )


def _add_step(draft: Draft, role: Role, step: dict[str, Any], place: str) -> None:
    said = content_of(step.pop("message", None))
    remark(draft, said, place)
    time = as_time(step.pop("timestamp", None))
    metrics = leftovers(draft, as_object(step.pop("metrics", None)) or {}, f"{place}.metrics")
    calls, about = _calls(draft, step.pop("tool_calls", None), f"{place}.tool_calls")
    results = as_list((as_object(step.pop("observation", None)) or {}).get("results")) or []
    reasoning = as_text(step.pop("reasoning_content", None))
    step.pop("step_id", None)
    extra = dict(as_object(step.pop("extra", None)) or {}) | step | about
    if more := metrics.get("extra"):
        extra["metrics"] = more
    extra = leftovers(draft, extra, place)
    usage = usage_of(metrics)
    draft.say(role, said.parts, place=place, reasoning=reasoning, calls=calls, time=time, usage=usage, extra=extra)
    for index, result in enumerate(results):
        _add_result(draft, dict(as_object(result) or {}), f"{place}.observation.results[{index}]", called=bool(calls))


def _add_result(draft: Draft, result: dict[str, Any], place: str, *, called: bool) -> None:
    """Add one observation: the result of a call, or what the environment said without being called."""
    content = content_of(result.pop("content", None))
    remark(draft, content, place)
    key = label_of(result, "source_call_id")
    result.pop("source_call_id", None)
    extra = dict(as_object(result.pop("extra", None)) or {}) | result
    time = as_time(extra.pop("timestamp", None))
    failed = extra.pop("is_error", None)
    extra = leftovers(draft, extra, place)
    if key is None and not called:
        draft.observe(content.parts, time=time, extra=extra)
    else:
        mark = failed if isinstance(failed, bool) else None
        draft.answer(content.parts, place=place, key=key, failed=mark, time=time, extra=extra)


def _calls(draft: Draft, entries: Any, place: str) -> tuple[list[Call], dict[str, Any]]:
    """The calls of a step, and what they have besides, by their names in addresses."""
    calls: list[Call] = []
    about: dict[str, Any] = {}
    for index, entry in enumerate(as_list(entries) or []):
        fields = dict(as_object(entry) or {})
        extra = dict(as_object(fields.pop("extra", None)) or {})
        arguments = fields.pop("arguments", None)
        raw = extra.pop("raw_arguments", None)
        if not arguments and isinstance(raw, str):
            arguments = raw
        name, call_id = fields.pop("function_name", None), fields.pop("tool_call_id", None)
        calls.append(call_of(name, arguments, call_id=call_id, draft=draft, place=f"{place}[{index}]"))
        if rest := extra | fields:
            about[f"call_{index + 1}"] = rest
    return calls, about
