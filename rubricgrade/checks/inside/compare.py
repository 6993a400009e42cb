"""Strict comparison of values, and how values are shown: True is not 1, ``1`` equals ``1.0``, NaN equals nothing."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

NUMBER = re.compile(r"[+-]?(?:(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
LONGEST_NUMBER = 64


def same(found: Any, expected: Any, within: float | str | None = None) -> bool:
    """Whether two JSON-like values are the same by type and value.

    Args:
        found: What was found. Objects of any other type are never the same as anything.
        expected: What it should be.
        within: Tolerance of numbers, also inside lists and objects: absolute, or relative to the expected number
            (``"0.5%"``). The bound itself is within.
    """
    kind: type[Any] = type(cast("object", expected))
    if kind is bool or expected is None or kind is str:
        return type(cast("object", found)) is kind and found == expected
    if kind in (int, float):
        return type(cast("object", found)) in (int, float) and _close(found, expected, within)
    if isinstance(expected, Mapping):
        wanted = cast("Mapping[str, Any]", expected)
        if type(cast("object", found)) is not dict or found.keys() != wanted.keys():
            return False
        return all(same(found[key], wanted[key], within) for key in wanted)
    if isinstance(expected, Sequence):
        items = cast("Sequence[Any]", expected)
        if type(cast("object", found)) not in (list, tuple) or len(found) != len(items):
            return False
        return all(same(one, other, within) for one, other in zip(found, items, strict=True))
    return False


def same_text(text: str, expected: Any, within: float | str | None = None) -> bool:
    """Whether a text (a CSV cell, a line of output) says the expected value; white space around it does not count.

    A number may carry thousands separators, ``true`` and ``false`` may be written in any case, and nothing at all is
    None.
    """
    if isinstance(expected, bool):
        return text.strip().lower() == str(expected).lower()
    if isinstance(expected, int | float):
        return same(number(text), expected, within)
    if expected is None:
        return not text.strip()
    return isinstance(expected, str) and text.strip() == expected.strip()


def number(text: str) -> int | float | None:
    """The number that a text is, thousands separators allowed; None if it is none or not finite."""
    text = text.strip()
    if len(text) > LONGEST_NUMBER or not NUMBER.fullmatch(text):
        return None
    text = text.replace(",", "")
    try:
        return int(text)
    except ValueError:
        value = float(text)
    return value if math.isfinite(value) else None


def show(value: Any, limit: int = 200) -> str:
    """A value as JSON for people, cut to `limit` characters."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=repr)
    except (ValueError, RecursionError):
        text = f"a value of type {type(value).__name__} that can't be shown"
    return cut(text, limit)


def cut(text: str, limit: int) -> str:
    """A text with its middle left out when it is longer than `limit`."""
    if len(text) <= limit:
        return text
    half = max(1, (limit - 1) // 2)
    return f"{text[:half]}…{text[-half:]}"


def _close(found: float, expected: float, within: float | str | None) -> bool:
    if not (_finite(found) and _finite(expected)):
        return False
    if within is None:
        return found == expected
    from fractions import Fraction  # noqa: PLC0415 - slow to load, and needed for a tolerance only

    def exact(value: float) -> Fraction:
        return Fraction(value) if isinstance(value, int) else Fraction(repr(value))

    # Decimal fractions as written: 0.5 % of 48.2 is 0.241 exactly, whatever binary makes of it.
    wanted = exact(expected)
    allowed = abs(wanted) * Fraction(within.rstrip("% \t")) / 100 if isinstance(within, str) else exact(within)
    return abs(exact(found) - wanted) <= allowed


def _finite(value: float) -> bool:
    return isinstance(value, int) or math.isfinite(value)
