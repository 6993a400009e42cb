"""What a host hands over in memory, made a trajectory: first plain JSON of bounded depth, then read as a file would be.

Everything in it may be an agent's doing, so nothing of it can make this fail: what is no JSON becomes text. But what
was said has to be text or parts as it comes: a number or an object in its place is a fault of the host, and would be
graded as if the agent had said it.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from rubricgrade import digest
from rubricgrade.errors import Fault, TrajectoryError
from rubricgrade.readers import chat, responses, verifiers
from rubricgrade.readers.source import Document
from rubricgrade.trajectory import Trajectory, clean_text

DEEPEST = 50
LARGEST = 1 << 63
TOOLS = frozenset({"tool", "function"})
"""Roles whose content can be any value: what a tool returned."""
Read = Callable[[Document], list[Trajectory]]


def from_sides(prompt: Any, completion: Any) -> Trajectory:
    """The trajectory of a prompt and what was answered, each a text or a list of chat messages.

    Raises:
        TrajectoryError: There is no message in it, or something in the place of what was said is no text.
    """
    asked = None if prompt is None else _messages(prompt, "prompt")
    return _read({"prompt": asked, "completion": _messages(completion, "completion")}, chat.read)


def from_messages(messages: Any, **facts: Any) -> Trajectory:
    """The trajectory of chat messages.

    Args:
        messages: A list of messages, or of objects that dump to them.
        **facts: What else is known, by the names that records of episodes use (``task``, ``task_id``, ``model``).

    Raises:
        TrajectoryError: There is no message in it, or something in the place of what was said is no text.
    """
    return _read({**facts, "messages": _messages(messages, "messages")}, chat.read)


def from_responses(record: Any) -> Trajectory:
    """The trajectory of a record with ``responses_create_params`` and ``response``, as the Responses API has them.

    Raises:
        TrajectoryError: There is no item in it, or something in the place of what was said is no text.
    """
    response = _fields((_fields(record) or {}).get("response")) or {}
    if response.get("output") is not None:
        _messages(response["output"], "response.output")
    return _read(record, responses.read)


def from_trace(trace: Any) -> Trajectory:
    """The trajectory of a trace of verifiers 1; of several branches the last one, where the episode ended.

    Raises:
        TrajectoryError: It is no trace.
    """
    return _read(trace, verifiers.read)


def plain(value: Any, level: int = 0) -> Any:
    """The value as JSON that every reader takes.

    Args:
        value: Anything: JSON, models that dump to it, numbers of other libraries, objects of a host.
        level: How deep it stands; below `DEEPEST` everything becomes text.
    """
    match value:
        case None | bool():
            return value
        case str():
            return clean_text(value)
        case numbers.Integral():
            whole = int(value)
            return whole if -LARGEST <= whole < LARGEST else hex(whole)
        case numbers.Real():
            number = float(value)
            return number if math.isfinite(number) else str(number)
        case bytes() | bytearray():
            return f"[{len(value)} bytes]"
        case _ if level >= DEEPEST:
            return clean_text(f"[nested deeper than {DEEPEST} levels: {type(value).__name__}]")
        case Mapping():
            fields = cast("Mapping[Any, Any]", value)
            return {clean_text(str(key)): plain(item, level + 1) for key, item in fields.items()}
        case Sequence() | set() | frozenset():
            return [plain(item, level + 1) for item in cast("Sequence[Any]", value)]
        case _ if callable(dump := getattr(value, "model_dump", None)):
            return plain(dump(), level + 1)
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {field.name: plain(getattr(value, field.name), level + 1) for field in dataclasses.fields(value)}
        case _:
            return clean_text(str(value))


def _messages(side: Any, place: str) -> Any:
    """A text, a message or a list of messages as it came; raises `TrajectoryError` for what is none of them."""
    if isinstance(side, str):
        return side
    given = [side] if _fields(side) is not None else side
    if not _is_list(given):
        message = f"is {type(side).__name__}; a text or a list of messages is wanted"
        raise TrajectoryError(Fault(f"{place} {message}", code="TR003"))
    for number, each in enumerate(given):
        fields = _fields(each) or {}  # what is no message at all is told by who reads it
        if str(fields.get("role")) not in TOOLS and not _is_said(content := fields.get("content")):
            message = f"is {type(content).__name__} or holds what is no part; text or a list of parts is wanted"
            raise TrajectoryError(Fault(f"{place}[{number}].content {message}", code="TR003"))
    return side


def _is_said(content: Any) -> bool:
    """Whether it is what somebody can have said: nothing, a text, a part or a list of them."""
    if content is None or isinstance(content, str) or _is_part(content):
        return True
    return _is_list(content) and all(isinstance(part, str) or _is_part(part) for part in content)


def _is_part(value: Any) -> bool:
    fields = _fields(value) or {}
    return isinstance(fields.get("type"), str) and isinstance(fields.get("text"), str | None)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def _fields(value: Any) -> Mapping[str, Any] | None:
    """The fields of an object in any of the forms that `plain` takes; None for anything else."""
    if callable(dump := getattr(value, "model_dump", None)):
        value = dump()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


def _read(value: Any, read: Read) -> Trajectory:
    content = plain(value)
    name = digest.of_value(content).removeprefix("sha256:")[:12]
    return read(Document(content, f"episode-{name}"))[-1]
