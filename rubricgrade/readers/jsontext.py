"""JSON text to a value that every store takes, with a note on each thing that had to be changed for it.

Strict where Python's parser is not: NaN, Infinity and numbers too large for a float are kept as text, a key that stands
twice is refused, nesting is bounded, and lone surrogates and NUL are replaced.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from rubricgrade import twice
from rubricgrade.readers.shapes import as_list, as_object
from rubricgrade.trajectory import UNCLEAN, clean_text

DEEPEST = 100
SOLID = re.compile(r"[^ \t\r\n]")


class NotJson(ValueError):
    """The text is not JSON, or none that is read.

    Attributes:
        reason: What is wrong, for people: ``is not JSON: ...``, ``is nested deeper than ...``.
        line: 1-based, within the text; 0 when it has no place.
        column: 1-based, within the text; 0 when it has no place.
        syntax: Whether it breaks JSON's grammar, as a text does that was cut.
    """

    def __init__(self, reason: str, line: int = 0, column: int = 0, *, syntax: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.line, self.column, self.syntax = reason, line, column, syntax


def parse(text: str) -> tuple[Any, tuple[str, ...]]:
    """Read one JSON value.

    Returns:
        The value, and notes on what was changed in it, each once.

    Raises:
        NotJson: It is not JSON, is nested deeper than `DEEPEST` levels, holds an absurdly long number, or an object in
            which a key stands twice: readers of it disagree on which value counts.
    """
    notes: dict[str, None] = {}
    value = _decoded(_decoder(notes).decode, text)
    return _cleaned(value, text, notes)


def parse_each(text: str) -> Iterator[tuple[Any, int, tuple[str, ...]]]:
    """Read JSON values that stand one after the other, however many lines each takes.

    Yields:
        Each value, the 1-based line where it begins, and notes on what was changed in it.

    Raises:
        NotJson: What comes next is none, in the ways that `parse` knows; lines are those of the text.
    """
    position, line = 0, 1
    while (found := SOLID.search(text, position)) is not None:
        start = found.start()
        line += text.count("\n", position, start)
        notes: dict[str, None] = {}
        value, position = _decoded(partial(_decoder(notes).raw_decode, idx=start), text)
        value, changed = _cleaned(value, text[start:position], notes)
        yield value, line, changed
        line += text.count("\n", start, position)


def _decoder(notes: dict[str, None]) -> json.JSONDecoder:
    """A decoder that keeps as text what is no number of ours, with a note, and refuses a key that stands twice."""

    def constant(name: str) -> str:
        notes[f"{name} is not JSON; kept as text"] = None
        return name

    def decimal(digits: str) -> float | str:
        number = float(digits)
        if math.isfinite(number):
            return number
        notes["a number too large for a float was kept as text"] = None
        return digits

    return json.JSONDecoder(parse_constant=constant, parse_float=decimal, object_pairs_hook=twice.unique)


def _decoded(decode: Callable[[str], Any], text: str) -> Any:
    try:
        return decode(text)
    except json.JSONDecodeError as error:
        raise NotJson(f"is not JSON: {error.msg}", error.lineno, error.colno, syntax=True) from None
    except twice.KeyTwice:
        found = twice.find(text)
        raise NotJson(f"has the key {found.key[:60]!r} twice in one object", found.line, found.column) from None
    except RecursionError:
        raise NotJson(f"is nested deeper than {DEEPEST} levels") from None
    except ValueError:
        raise NotJson("holds a number of thousands of digits") from None


def _cleaned(value: Any, text: str, notes: dict[str, None]) -> tuple[Any, tuple[str, ...]]:
    unclean = "\\u" in text or UNCLEAN.search(text) is not None
    value, changed = _checked(value, unclean=unclean, level=0)
    if changed:
        notes["lone surrogates or NUL characters were replaced"] = None
    return value, tuple(notes)


def _checked(value: Any, *, unclean: bool, level: int) -> tuple[Any, bool]:
    """The value with bounded depth and, where `unclean`, cleaned texts; and whether anything was replaced."""
    if level > DEEPEST:
        raise NotJson(f"is nested deeper than {DEEPEST} levels")
    if isinstance(value, str):
        text = clean_text(value) if unclean else value
        return text, text != value
    changed = False
    fields = as_object(value)
    if fields is not None:
        for key, item in list(fields.items()):
            fields[key], dirty = _checked(item, unclean=unclean, level=level + 1)
            clean = clean_text(key) if unclean else key
            if clean != key:
                fields[clean] = fields.pop(key)
            changed = changed or dirty or clean != key
        return fields, changed
    entries = as_list(value)
    if entries is not None:
        for index, item in enumerate(entries):
            if isinstance(item, str | list | dict):
                entries[index], dirty = _checked(item, unclean=unclean, level=level + 1)
                changed = changed or dirty
        return entries, changed
    return value, False
