"""A rubric whose faulty parts are replaced by harmless ones, so that the rules can be tried on the rest of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from pydantic import ValidationError

from rubricgrade.loading.document import Place
from rubricgrade.rubric import Rubric

ITEMISED = frozenset({"gates", "criteria", "vars", "checks"})
"""Sections whose parts are replaced one by one."""


def mended(data: Mapping[str, Any], faulty: Iterable[Place]) -> tuple[Rubric | None, set[Place]]:
    """The rest of a rubric, and which of its parts were replaced; None when too little is left.

    A faulty gate or criterion keeps its id, so that what needs it still finds it.
    """
    # Two levels are copied: no faulty part that is replaced lies above the second.
    copy: dict[str, Any] = {key: _copied(value) for key, value in data.items()}
    replaced: set[Place] = set()
    for place in filter(None, faulty):
        part = place[:2] if place[0] in ITEMISED else place[:1]
        if part not in replaced:
            replaced.add(part)
            _replace(copy, part)
    copy.setdefault("id", "unnamed")
    try:
        return Rubric.build(copy, {}), replaced
    except ValidationError:
        return None, replaced


def _copied(value: Any) -> Any:
    match value:
        case dict():
            return dict(cast("dict[str, Any]", value))
        case list():
            return list(cast("list[Any]", value))
        case _:
            return value


def _replace(copy: dict[str, Any], part: Place) -> None:
    match part:
        case ("gates" | "criteria" as section, int() as index):
            copy[section][index] = _stand_in(copy[section][index], part)
        case ("gates" | "criteria" as section,):
            copy[section] = [_stand_in(None, (section, 0))]
        case ("vars" | "checks" as section, str() as name) if name.isidentifier():
            copy[section][name] = {"command": ["true"]} if section == "checks" else None
        case (str() as section, str() as name):
            copy[section].pop(name, None)
        case _:
            copy.pop(str(part[0]), None)


def _stand_in(item: Any, place: Place) -> dict[str, Any]:
    known: Mapping[str, Any] = cast("Mapping[str, Any]", item) if isinstance(item, dict) else {}
    name = known.get("id")
    ends: dict[str, Any] = {"description": "-", "id": name if _is_id(name) else "-".join(["faulty", *map(str, place)])}
    if place[0] == "gates":
        return {**ends, "check": {"command": ["true"]}}
    inside = known.get("criteria")
    if isinstance(inside, list) and inside:
        parts = cast("list[Any]", inside)
        return {**ends, "points": 1, "criteria": [_stand_in(part, (*place, index)) for index, part in enumerate(parts)]}
    return {**ends, "points": 1, "human": {}}


def _is_id(name: Any) -> bool:
    return isinstance(name, str) and name[:1].isalnum() and all(char.isalnum() or char in "_.-" for char in name)
