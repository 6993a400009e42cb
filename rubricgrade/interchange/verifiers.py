"""verifiers' `RubricJudge`: ``{name, text, weight, choices}``, choices from worst to best and evenly spaced."""

from __future__ import annotations

from typing import Any

from rubricgrade.interchange.draft import Draft, Imported, scale
from rubricgrade.interchange.lists import entries
from rubricgrade.readers.shapes import as_list, as_object

YES_NO = ["no", "yes"]


def matches(value: Any) -> bool:
    """Whether it holds ``criteria`` with ``text``."""
    criteria = entries((as_object(value) or {}).get("criteria"))
    return bool(criteria) and all("text" in one for one in criteria)


def read(value: Any, name: str) -> list[Imported]:
    """The rubric."""
    fields = as_object(value) or {}
    draft = Draft(name)
    for key in sorted(fields.keys() - {"criteria"}):
        draft.lose(f"{key!r} is said by who grades, not by the rubric")
    return [draft.finish([_criterion(one, draft) for one in entries(fields["criteria"])])]


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
