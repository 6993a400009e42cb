"""autorubric: ``name, weight, requirement, options`` in a list or in sections, with guidelines; alone or in a data set.

A data set has one rubric for all of its items, or items that bring their own.
"""

from __future__ import annotations

from typing import Any

from rubricgrade.interchange.draft import Draft, Imported, finite, scale
from rubricgrade.interchange.lists import entries
from rubricgrade.readers.shapes import as_object, as_text

OWN = {"name", "options", "scale_type", "aggregation"}
READ = {"guidelines", "criteria", "sections", "rubric", "name", "prompt", "reference_submission"}
USUAL_WEIGHT = 10
"""What autorubric gives to a criterion without a weight."""


def matches(value: Any) -> bool:
    """Whether it holds requirements with what only autorubric has."""
    fields = as_object(value) or {}
    found = [one for each in (value, *_items(fields)) for _, one in _criteria(each)]
    asks = bool(found) and all("requirement" in one for one in found)
    return asks and ("guidelines" in fields or any(OWN & one.keys() for one in found))


def read(value: Any, name: str) -> list[Imported]:
    """The rubric; of a data set the one of all items, then those of items that bring their own."""
    fields = as_object(value) or {}
    shared = [_rubric(value, name)] if _criteria(value) else []
    own = [(number, item) for number, item in enumerate(_items(fields), 1) if _criteria(item)]
    return [*shared, *(_rubric(item, f"{name}-{number}") for number, item in own)]


def _items(fields: dict[str, Any]) -> list[dict[str, Any]]:
    """The items of a data set."""
    return entries(fields.get("items"))


def _rubric(value: Any, name: str) -> Imported:
    fields = as_object(value) or {}
    described = as_text(fields.get("prompt")) or ""
    reference = as_text(fields.get("reference_submission")) or ""
    inner = as_object(fields.get("rubric")) or {}
    guidance = as_text(fields.get("guidelines")) or as_text(inner.get("guidelines")) or ""
    draft = Draft(name, description=described, guidance=guidance, reference=reference)
    for key in sorted(key for key in fields.keys() - READ if fields[key] not in (None, "")):
        draft.lose(f"{key!r} has no place here")
    return draft.finish([_criterion(one, section, draft) for section, one in _criteria(value)])


def _criterion(one: dict[str, Any], section: str, draft: Draft) -> dict[str, Any]:
    for key in sorted(one.keys() - {"name", "weight", "requirement", "options", "scale_type"}):
        draft.lose(f"{key!r} has no place here")
    if "weight" not in one:
        draft.lose(f"criteria without a weight got {USUAL_WEIGHT}, as autorubric gives them")
    options = entries(one.get("options"))
    if any(option.get("na") for option in options):
        draft.lose("a choice for 'does not apply' is not offered: a judge says that it can't tell")
    steps = [
        (str(option.get("label")), finite(option.get("value"), "an option's value"))
        for option in options
        if not option.get("na")
    ]
    judge = {"scale": made} if steps and (made := scale(steps, draft)) is not None else {}
    if steps and not judge:
        draft.lose(f"{one.get('name')!r}: fewer than two choices differ in value, so it is asked as yes or no")
    tags = [section] if section else []
    weight = one.get("weight", USUAL_WEIGHT)
    return draft.criterion(one["requirement"], weight, name=one.get("name"), tags=tags, judge=judge)


def _criteria(value: Any) -> list[tuple[str, dict[str, Any]]]:
    fields = as_object(value)
    if fields is None:
        return [("", one) for one in entries(value)]
    for key in ("rubric", "criteria"):
        if key in fields:
            return _criteria(fields[key])
    return [
        (as_text(section.get("name")) or as_text(section.get("title")) or "", one)
        for section in entries(fields.get("sections"))
        for one in entries(section.get("criteria"))
    ]
