"""What a host hands over in memory, made a trajectory: first plain JSON of bounded depth, then read as a file would be.

Everything in it may be an agent's doing, so nothing of it can make this fail: what is no JSON becomes text.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from rubricgrade import digest
from rubricgrade.readers import chat, responses, verifiers
from rubricgrade.readers.source import Document
from rubricgrade.trajectory import Trajectory, clean_text

DEEPEST = 50
LARGEST = 1 << 63
Read = Callable[[Document], list[Trajectory]]


def from_sides(prompt: Any, completion: Any) -> Trajectory:
    """The trajectory of a prompt and what was answered, each a text or a list of chat messages.

    Raises:
        TrajectoryError: There is no message in it.
    """
    return _read({"prompt": prompt, "completion": completion}, chat.read)


def from_messages(messages: Any, **facts: Any) -> Trajectory:
    """The trajectory of chat messages.

    Args:
        messages: A list of messages, or of objects that dump to them.
        **facts: What else is known, by the names that records of episodes use (``task``, ``task_id``, ``model``).

    Raises:
        TrajectoryError: There is no message in it.
    """
    return _read({**facts, "messages": messages}, chat.read)


def from_responses(record: Any) -> Trajectory:
    """The trajectory of a record with ``responses_create_params`` and ``response``, as the Responses API has them.

    Raises:
        TrajectoryError: There is no item in it.
    """
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


def _read(value: Any, read: Read) -> Trajectory:
    content = plain(value)
    name = digest.of_value(content).removeprefix("sha256:")[:12]
    return read(Document(content, f"episode-{name}"))[-1]
