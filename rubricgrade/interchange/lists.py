"""Flat lists: gandalf (``criterion, weight``), the ``rubric`` library (``requirement, weight``), HealthBench's rows."""

from __future__ import annotations

from typing import Any

from rubricgrade.errors import Fault, InputError
from rubricgrade.interchange.draft import Draft, Imported
from rubricgrade.readers.shapes import as_list, as_object, as_text

HEALTHBENCH_READ = {"prompt_id", "rubrics", "prompt", "example_tags"}


def entries(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; empty when it is no list of objects only."""
    found = as_list(value) or []
    objects = [one for one in map(as_object, found) if one is not None]
    return objects if len(objects) == len(found) else []


def is_gandalf(value: Any) -> bool:
    """Whether it is a list of ``{criterion, weight}``, or of ``{criteria, weight}`` as before version 1."""
    found = entries(value)
    return bool(found) and all("weight" in one and ("criterion" in one or _asked(one)) for one in found)


def read_gandalf(value: Any, name: str) -> list[Imported]:
    """The rubric of a gandalf list; at first a penalty was a positive weight with ``negative: true``."""
    draft = Draft(name)
    _note_keys(draft, entries(value), {"criterion", "criteria", "weight", "negative"})
    return [draft.finish([_gandalf(one, draft) for one in entries(value)])]


def _gandalf(one: dict[str, Any], draft: Draft) -> dict[str, Any]:
    made = draft.criterion(one.get("criterion", _asked(one)), one["weight"])
    return {**made, "points": -abs(made["points"])} if one.get("negative") is True else made


def _asked(one: dict[str, Any]) -> str | None:
    """The text under ``criteria``; other formats have a list there."""
    return as_text(one.get("criteria"))


def is_healthbench(value: Any) -> bool:
    """Whether it is a row with ``rubrics`` of ``{criterion, points}``, a list of such rows, or such a list."""
    rows = entries(value) or entries([value])
    first = rows[0] if rows else {}
    rubrics = entries(first.get("rubrics")) or rows
    return bool(rubrics) and {"criterion", "points"} <= rubrics[0].keys()


def read_healthbench(value: Any, name: str) -> list[Imported]:
    """One rubric for each row."""
    rows = entries(value) or entries([value])
    if "rubrics" not in rows[0]:
        rows = [{"rubrics": rows}]
    return [
        _healthbench(row, as_text(row.get("prompt_id")) or (name if len(rows) == 1 else f"{name}-{number}"))
        for number, row in enumerate(rows, 1)
    ]


def _healthbench(row: dict[str, Any], name: str) -> Imported:
    draft = Draft(name)
    criteria = entries(row.get("rubrics"))
    if not criteria:
        raise InputError(Fault(f"row {name!r} holds no criteria: take it out, or write some"))
    _note_keys(draft, criteria, {"criterion", "points", "tags"})
    _note_keys(draft, [row], HEALTHBENCH_READ)
    if row.get("prompt"):
        draft.lose("the prompt is no part of a rubric: give it as the trajectory")
    shared = as_list(row.get("example_tags")) or []
    made = [
        draft.criterion(one.get("criterion"), one.get("points"), tags=[*(as_list(one.get("tags")) or []), *shared])
        for one in criteria
    ]
    draft.lose(
        "HealthBench clips the mean over all examples; here every score is clipped, and the ratio is kept beside"
    )
    return draft.finish(made)


def is_requirements(value: Any) -> bool:
    """Whether it is a list of ``{requirement, weight}``, bare or under ``rubric``, or in sections."""
    return bool(_requirements(value)) and all("requirement" in one for _, one in _requirements(value))


def read_requirements(value: Any, name: str) -> list[Imported]:
    """The rubric of the ``rubric`` library's list; names of sections become tags."""
    draft = Draft(name)
    found = _requirements(value)
    _note_keys(draft, [one for _, one in found], {"requirement", "weight"})
    if any("weight" not in one for _, one in found):
        draft.lose("requirements without a weight got 1")
    criteria = [
        draft.criterion(one["requirement"], one.get("weight", 1), tags=[section] if section else [])
        for section, one in found
    ]
    return [draft.finish(criteria)]


def _requirements(value: Any) -> list[tuple[str, dict[str, Any]]]:
    fields = as_object(value)
    if fields is None:
        return [("", one) for one in entries(value)]
    if "rubric" in fields:
        return _requirements(fields["rubric"])
    sections = entries(fields.get("sections"))
    return [
        (as_text(section.get("name")) or as_text(section.get("title")) or "", one)
        for section in sections
        for one in entries(section.get("criteria"))
    ]


def _note_keys(draft: Draft, found: list[dict[str, Any]], known: set[str]) -> None:
    for key in sorted({key for one in found for key in one if key not in known and one[key] is not None}):
        draft.lose(f"{key!r} has no place here")
