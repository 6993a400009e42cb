"""JSON values as YAML that is pleasant to edit and that the strict loader reads as it was meant: all text is quoted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff]")
WIDE = 100


def to_yaml(value: Mapping[str, Any]) -> str:
    """The text of a map, in its order."""
    return "\n".join(_lines(value)) + "\n"


def _lines(value: Any) -> Iterator[str]:
    match value:
        case Mapping() if value:
            for key, item in value.items():  # pyright: ignore[reportUnknownVariableType] - a JSON value
                yield from _headed(f"{key}:", item)
        case list() | tuple() if value:
            for item in value:  # pyright: ignore[reportUnknownVariableType] - a JSON value
                yield from _headed("-", item)
        case _:
            yield _flow(value)


def _headed(head: str, item: Any) -> Iterator[str]:
    """A key or a dash with what belongs to it: beside it when it is short, else below, indented."""
    flow = _flow(item)
    if not isinstance(item, Mapping | list | tuple) or not item or (head != "-" and len(flow) < WIDE and _flat(item)):
        yield f"{head} {flow}"
        return
    lines = _lines(item)
    if head == "-":
        yield f"- {next(lines)}"
    else:
        yield head
        yield f"  {next(lines)}"
    for line in lines:
        yield f"  {line}"


def _flat(item: Any) -> bool:
    parts: Sequence[Any] = [*item.values()] if isinstance(item, Mapping) else item  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] - a JSON value
    return not any(isinstance(part, Mapping | list | tuple) for part in parts)


def _flow(value: Any) -> str:
    match value:
        case Mapping():
            return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"  # pyright: ignore[reportUnknownVariableType] - a JSON value
        case list() | tuple():
            return "[" + ", ".join(_flow(item) for item in value) + "]"  # pyright: ignore[reportUnknownVariableType] - a JSON value
        case str():
            text = json.dumps(value, ensure_ascii=False)
            return ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
        case _:
            return json.dumps(value, allow_nan=False)
