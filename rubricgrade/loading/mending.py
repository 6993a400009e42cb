"""A rubric whose faulty parts are replaced by harmless ones, so that the rules can be tried on the rest of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from pydantic import ValidationError

from rubricgrade.loading.document import Place
from rubricgrade.rubric import Rubric


def mended(data: Mapping[str, Any], faulty: Iterable[Place]) -> tuple[Rubric | None, set[Place]]:
    """The rest of a rubric, and which of its parts were replaced; None when too little is left.

    A faulty gate or criterion keeps its id, so that what needs it still finds it.
    """
    copy: dict[str, Any] = dict(data)
    replaced: set[Place] = set()
    for place in faulty:
        match place:
            case ("gates" | "criteria" as section, int() as index, *_):
                items: list[Any] = list(copy[section])
                items[index] = _stand_in(items[index], place[:2])
                copy[section] = items
                replaced.add(place[:2])
            case ("vars" | "checks" as section, str() as name, *_):
                stand_in = {"command": ["true"]} if section == "checks" else None
                rest = {key: value for key, value in copy[section].items() if key != name}
                copy[section] = {**rest, name: stand_in} if name.isidentifier() else rest
                replaced.add(place[:2])
            case ("gates" | "criteria" as section, *_):
                copy[section] = [_stand_in(None, (section, 0))]
                replaced.add((section,))
            case (str() as key, *_):
                copy.pop(key, None)
                replaced.add((key,))
            case _:
                pass
    copy.setdefault("id", "unnamed")
    try:
        return Rubric.build(copy, {}), replaced
    except ValidationError:
        return None, replaced


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
