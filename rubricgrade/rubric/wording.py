"""Names in double braces inside a rubric's own texts: `{{ vars.x }}` and `{{ item }}`, looked up, never evaluated."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

BRACES = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
NAME = re.compile(r"(?:vars\.([A-Za-z_]\w*)|(item))\Z")


def unknown_names(text: str, variables: Mapping[str, Any], *, item: bool) -> Iterator[str]:
    """What stands in double braces and is neither a variable of the rubric nor (where it may be) the item."""
    for match in BRACES.finditer(text):
        inside = match.group(1).strip()
        name = NAME.match(inside)
        known = name is not None and (item if name.group(2) else name.group(1) in variables)
        if not known:
            yield inside


def fill(text: str, variables: Mapping[str, Any], item: str | None = None) -> str:
    """The text with its names replaced, in one pass: what is put in is never looked at again."""

    def value(match: re.Match[str]) -> str:
        name = NAME.match(match.group(1).strip())
        if name is None:
            return match.group(0)
        if name.group(2):
            return match.group(0) if item is None else item
        found = variables.get(name.group(1))
        if isinstance(found, bool):
            return "true" if found else "false"
        return ", ".join(cast("tuple[str, ...]", found)) if isinstance(found, tuple) else str(found)

    return BRACES.sub(value, text)
