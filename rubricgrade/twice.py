"""JSON objects in which a key stands twice: readers disagree on which value counts, so nothing of ours takes one."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

TOKEN = re.compile(r'("(?:[^"\\]|\\.)*+")(\s*:)?|[{}]')


@dataclass(frozen=True, slots=True)
class Twice:
    """A key that stands a second time in its object, and where: 1-based line and column."""

    key: str
    line: int
    column: int


class KeyTwice(ValueError):
    """A key stands twice in one object. Its place is for `find` to say: the parser does not tell it."""


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The ``object_pairs_hook`` of a parser that is to refuse such objects. Raises `KeyTwice`."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise KeyTwice("a key stands twice in one object")
    return fields


def find(text: str) -> Twice:
    """The first key that stands twice, in a text for which `unique` has raised `KeyTwice`."""
    objects: list[set[str]] = []
    for token in TOKEN.finditer(text):
        if token[0] == "{":
            objects.append(set())
        elif token[0] == "}":
            objects.pop()
        elif token[2] is not None:
            key = json.loads(token[1])
            if key in objects[-1]:
                before = text[: token.start()]
                return Twice(key, before.count("\n") + 1, len(before) - before.rfind("\n"))
            objects[-1].add(key)
    raise ValueError("no key stands twice in this text")


def told(data: bytes) -> str | None:
    """What to say of JSON in which a key stands twice; None where none does."""
    try:
        json.loads(data, object_pairs_hook=unique)
    except KeyTwice:
        return f"the key {find(data.decode()).key!r} stands twice; keep one of them"
    return None
