"""RaR (Rubrics as Rewards): rows of a question, a reference answer and ``{title, description, weight}``."""

from __future__ import annotations

import re
from typing import Any

from rubricgrade.interchange.draft import Draft, Imported
from rubricgrade.interchange.lists import entries
from rubricgrade.readers.shapes import as_text

KIND = re.compile(r"\s*(essential|important|optional|pitfall)\s+criteria\s*:\s*", re.IGNORECASE)
KNOWN = {"question", "reference_answer", "rubric", "rubric_list", "rubric_count", "question_source"}


def matches(value: Any) -> bool:
    """Whether it is a row, or a list of rows."""
    rows = entries(value) or entries([value])
    rubric = entries(rows[0].get("rubric")) if rows else []
    return bool(rubric) and {"description", "weight"} <= rubric[0].keys()


def read(value: Any, name: str) -> list[Imported]:
    """One rubric for each row."""
    rows = entries(value) or entries([value])
    return [_row(row, name if len(rows) == 1 else f"{name}-{number}") for number, row in enumerate(rows, 1)]


def _row(row: dict[str, Any], name: str) -> Imported:
    draft = Draft(
        name, description=as_text(row.get("question")) or "", reference=as_text(row.get("reference_answer")) or ""
    )
    for key in sorted(row.keys() - KNOWN):
        draft.lose(f"{key!r} has no place here")
    return draft.finish([_criterion(one, draft) for one in entries(row.get("rubric"))])


def _criterion(one: dict[str, Any], draft: Draft) -> dict[str, Any]:
    text, weight = one.get("description"), one.get("weight")
    kind = KIND.match(text) if isinstance(text, str) else None
    tags: list[str] = []
    if kind is not None and isinstance(text, str):
        tags, text = [kind[1].lower()], text[kind.end() :]
    name = one.get("title") or one.get("name")
    if tags == ["pitfall"] and isinstance(weight, int | float) and weight > 0:
        draft.lose(f"{name!r} is a pitfall with positive points: read whether meeting it is good or bad")
    return draft.criterion(text, weight, name=name, tags=tags)
