"""Narrowing of JSON values that may be anything: each function gives the value when it has the shape, else None."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar, cast

Read = TypeVar("Read")
ISO_LENGTH = 40
NAME_LENGTH = 200


def as_object(value: Any) -> dict[str, Any] | None:
    """A JSON object."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def as_list(value: Any) -> list[Any] | None:
    """A JSON array."""
    return cast("list[Any]", value) if isinstance(value, list) else None


def as_text(value: Any) -> str | None:
    """A text that is not empty."""
    return value if isinstance(value, str) and value else None


def as_whole(value: Any) -> int | None:
    """A whole number that is not negative; a bool is none."""
    number = as_number(value)
    return int(number) if number is not None and number >= 0 and number == int(number) else None


def as_number(value: Any) -> float | None:
    """A finite number; a bool is none, nor is a text that looks like one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def as_label(value: Any) -> str | None:
    """A text or a whole number, as text: what names a task or an episode."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if -(10**18) < value < 10**18 else None
    return as_text(value)


def as_name(value: Any) -> str | None:
    """A label that can be a name: one word of some length at most."""
    label = as_label(value)
    return label if label is not None and len(label) <= NAME_LENGTH and len(label.split()) == 1 else None


def as_time(value: Any) -> str | None:
    """An ISO 8601 time: a text as it is, seconds since 1970 converted to UTC."""
    if isinstance(value, str):
        return value if 0 < len(value) <= ISO_LENGTH else None
    seconds = as_number(value)
    if not seconds:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (OverflowError, OSError, ValueError):
        return None


def compact(value: Any) -> str:
    """A JSON value as text, without spaces, keys in the order they came."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def without_nulls(fields: dict[str, Any]) -> dict[str, Any]:
    """The keys that say something: those with null and with empty lists and objects are left out."""
    return {key: value for key, value in fields.items() if value is not None and value not in ([], {})}


def take(fields: dict[str, Any], name: str, read: Callable[[Any], Read | None]) -> Read | None:
    """Read a field and take it out; one that can't be read stays."""
    value = read(fields.get(name))
    if value is not None:
        del fields[name]
    return value
