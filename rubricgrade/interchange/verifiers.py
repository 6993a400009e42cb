"""verifiers' `RubricJudge`: ``{name, text, weight, choices}``, choices from worst to best and evenly spaced.

The criteria stand under ``criteria``, or are the whole of the file.
"""

from __future__ import annotations

from typing import Any

from rubricgrade.interchange.draft import Draft, Imported, scale
from rubricgrade.interchange.lists import entries
from rubricgrade.readers.shapes import as_list, as_object, as_text

YES_NO = ["no", "yes"]


def matches(value: Any) -> bool:
    """Whether it is or holds a list of criteria with ``name`` and ``text``."""
    criteria = _criteria(value)
    return bool(criteria) and all({"name", "text"} <= one.keys() for one in criteria)


def read(value: Any, name: str) -> list[Imported]:
    """The rubric."""
    fields = as_object(value) or {}
    draft = Draft(name, title=as_text(fields.get("title")) or "")
    for key in sorted(fields.keys() - {"criteria", "title"}):
        draft.lose(f"{key!r} is said by who grades, not by the rubric")
    return [draft.finish([_criterion(one, draft) for one in _criteria(value)])]


def _criteria(value: Any) -> list[dict[str, Any]]:
    fields = as_object(value)
    return entries(value if fields is None else fields.get("criteria"))


def _criterion(one: dict[str, Any], draft: Draft) -> dict[str, Any]:
    for key in sorted(one.keys() - {"name", "text", "weight", "choices"}):
        draft.lose(f"{key!r} has no place here")
    choices = [str(choice) for choice in as_list(one.get("choices")) or YES_NO]
    judge: dict[str, Any] = {}
    if len(choices) == 1:
        draft.lose(f"{one.get('name')!r}: a single choice is no scale, so it is asked as yes or no")
    elif choices != YES_NO:
        judge["scale"] = scale([(label, rank / (len(choices) - 1)) for rank, label in enumerate(choices)], draft)
    return draft.criterion(one["text"], one.get("weight", 1), name=one.get("name"), judge=judge)
