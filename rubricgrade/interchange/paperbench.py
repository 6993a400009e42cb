"""PaperBench's tree: every task with sub-tasks becomes a group, worth the weighted mean of its parts, as there."""

from __future__ import annotations

from typing import Any

from rubricgrade.errors import Fault, InputError
from rubricgrade.interchange.draft import Draft, Imported
from rubricgrade.interchange.lists import entries
from rubricgrade.readers.shapes import as_object, as_text

KNOWN = {"id", "requirements", "weight", "sub_tasks", "task_category", "finegrained_task_category"}
DEEPEST = 25


def matches(value: Any) -> bool:
    """Whether it is a node with sub-tasks."""
    fields = as_object(value) or {}
    return "requirements" in fields and isinstance(fields.get("sub_tasks"), list)


def read(value: Any, name: str) -> list[Imported]:
    """The rubric of a tree. The root is the rubric; what weighs nothing is left out, as it counts for nothing there."""
    root = as_object(value) or {}
    draft = Draft(as_text(root.get("id")) or name, title=(as_text(root.get("requirements")) or "")[:200])
    made = [one for node in entries(root.get("sub_tasks")) or [root] for one in _node(node, draft, level=1)]
    return [draft.finish(made)]


def _node(node: dict[str, Any], draft: Draft, *, level: int) -> list[dict[str, Any]]:
    """The node as a criterion; nothing when it can't count."""
    if level > DEEPEST:
        raise InputError(Fault(f"the tree is deeper than {DEEPEST} levels"))
    for key in sorted(node.keys() - KNOWN):
        draft.lose(f"{key!r} has no place here")
    text, weight = node.get("requirements"), node.get("weight", 1)
    tags = [tag for tag in (node.get("task_category"), node.get("finegrained_task_category")) if tag]
    if isinstance(weight, int | float) and weight < 0:
        raise InputError(Fault(f"{node.get('id')!r}: a weight below 0 has no meaning in this format"))
    if not weight:
        draft.lose(f"{node.get('id')!r} weighs nothing, so it was left out with all below it")
        return []
    children = entries(node.get("sub_tasks"))
    if not children:
        return [draft.criterion(text, weight, name=node.get("id"), tags=tags)]
    parts = [one for child in children for one in _node(child, draft, level=level + 1)]
    if not parts:
        draft.lose(f"{node.get('id')!r} was left out: nothing below it weighs anything, so it always counted 0")
        return []
    return [draft.criterion(text, weight, name=node.get("id"), tags=tags, parts=parts)]
