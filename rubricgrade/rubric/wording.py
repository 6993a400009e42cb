"""Names in double braces inside a rubric's own texts: `{{ vars.x }}` and `{{ item }}`, looked up, never evaluated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

BRACES = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
ITEM = 4000
"""Characters of an item of a `for_each` that are put into a text; about a longer one nobody is asked."""

MOST_FILLED = 32 << 20
"""Characters of all descriptions, guidance and references of a rubric with their names replaced."""

NAME = re.compile(r"(?:vars\.([A-Za-z_]\w*)|(item))\Z")


def unknown_names(text: str, variables: Mapping[str, Any], *, item: bool) -> Iterator[str]:
    """What stands in double braces and is neither a variable of the rubric nor (where it may be) the item."""
    for match in BRACES.finditer(text):
        inside = match.group(1).strip()
        name = NAME.match(inside)
        known = name is not None and (item if name.group(2) else name.group(1) in variables)
        if not known:
            yield inside


def filled_length(texts: Iterable[str], variables: Mapping[str, Any]) -> int:
    """Characters of some texts with their names replaced, found without making them; an item counts as `ITEM`."""
    lengths: dict[str, int] = {}
    found = 0
    for text in texts:
        found += len(text)
        for match in BRACES.finditer(text):
            name = NAME.match(match.group(1).strip())
            if name is None:
                continue
            known = name.group(1) or ""
            if known not in lengths:
                lengths[known] = len(_said(variables.get(known))) if known else ITEM
            found += lengths[known] - len(match.group(0))
    return found


def fill(text: str, variables: Mapping[str, Any], item: str | None = None) -> str:
    """The text with its names replaced, in one pass: what is put in is never looked at again."""
    # A cut item has one character more, the dots.
    named = item if item is None or len(item) <= ITEM + 1 else f"{item[:ITEM]}…"

    def value(match: re.Match[str]) -> str:
        name = NAME.match(match.group(1).strip())
        if name is None:
            return match.group(0)
        if name.group(2):
            return match.group(0) if named is None else named
        return _said(variables.get(name.group(1)))

    return BRACES.sub(value, text)


def _said(value: Any) -> str:
    """A variable's value in a sentence."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else str(value)
