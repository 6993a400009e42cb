"""What a plain YAML scalar means by the 1.2 core rules; what other readers take for something else is refused.

``no``, ``yes``, ``off`` and ``on`` are text. ``007``, ``0x10``, ``1_000``, ``12:30`` and dates are text by 1.2 and
numbers or dates by 1.1, so the author has to quote them.
"""

from __future__ import annotations

import math
import re

Plain = str | int | float | bool | None

NULLS = frozenset({"", "~", "null", "Null", "NULL"})
BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
LARGEST = 2**63 - 1
"""Whole numbers beyond this are refused: JSON readers elsewhere would change them."""

INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
FLOAT = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z")
DOUBTFUL = (
    (re.compile(r"[-+]?0[0-9_]+(?:\.[0-9_]*)?\Z"), "a leading zero"),
    (re.compile(r"[-+]?0[xXoObB][0-9a-fA-F_]+\Z"), "another base than ten"),
    (re.compile(r"[-+]?[0-9][0-9_]*_[0-9_]*(?:\.[0-9_]*)?\Z"), "an underscore between digits"),
    (re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?\Z"), "the look of a time"),
    (
        re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}.*)?\Z"),
        "the look of a date",
    ),
)
NONZERO = re.compile(r"[-+.0]*[1-9]")
NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")


def resolve(text: str) -> tuple[Plain, str]:
    """The value of a plain scalar, and what is wrong with it (empty if nothing is).

    With a problem the value is the text itself, so that reading can go on.
    """
    if text in NULLS:
        return None, ""
    if text in BOOLS:
        return BOOLS[text], ""
    if text[0] not in "0123456789+-.":
        return text, ""
    return _number(text)


def _number(text: str) -> tuple[Plain, str]:
    if INTEGER.match(text):
        # The length is looked at first: int() itself refuses thousands of digits.
        if len(text) > len(str(LARGEST)) + 1 or abs(int(text)) > LARGEST:
            return text, f"{_cut(text)} is larger than any number here (2^63 - 1); quote it if text is meant"
        return int(text), ""
    if FLOAT.match(text):
        number = float(text)
        if not math.isfinite(number):
            return text, f"{_cut(text)} is no finite number"
        if not number and NONZERO.match(text):
            return text, f"{_cut(text)} is too small for a number here, and would be 0"
        return number, ""
    if NOT_FINITE.match(text):
        return text, f"{text} is no finite number; quote it if text is meant"
    for pattern, look in DOUBTFUL:
        if pattern.match(text):
            return text, f'{_cut(text)} has {look} and means different things to different readers; quote it: "{text}"'
    return text, ""


def _cut(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:30]}... ({len(text)} characters)"  # noqa: PLR2004 - one line's worth
