"""What a found value or text must be, by the keys ``equals``, ``contains``, ``matches`` that several kinds share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rubricgrade.checks.inside.case import Case, CheckResult, Seen
from rubricgrade.checks.inside.compare import cut, number, same, same_text, show


def judged(
    case: Case, spec: Mapping[str, Any], found: Any, *, name: str, where: str, of_text: bool = False
) -> CheckResult:
    """The verdict on one found value: the same as ``equals`` if that is given, else just there (not null, not empty).

    Args:
        case: Its tolerance is used for numbers.
        spec: The check's settings.
        found: The value.
        name: What it is called in the message.
        where: Its place.
        of_text: `found` is text that stands for a value, such as a CSV cell.
    """
    compared = same_text if of_text else same
    if "equals" in spec:
        met = compared(found, spec["equals"], case.within)
        message = f"{name}: found {show(found)}, expected {show(spec['equals'])}{tolerance(case)}"
    else:
        met = found is not None and found != ""
        message = f"{name}: found {show(found)}"
    return CheckResult(met, measured=measure(found, of_text=of_text), evidence=[Seen(message, where)], message=message)


def unmet(case: Case, spec: Mapping[str, Any], text: str) -> list[str]:
    """What a text lacks of what is expected of it, in words; empty when it has all."""
    found = cut(text.strip(), 200)
    lacks: list[str] = []
    if "equals" in spec and not same_text(text, spec["equals"], case.within):
        lacks.append(f"found {show(found)}, expected {show(spec['equals'])}{tolerance(case)}")
    if spec.get("contains") is not None and spec["contains"] not in text:
        lacks.append(f"{show(spec['contains'])} is not in {show(found)}")
    if spec.get("matches") is not None and not re.search(spec["matches"], text, re.MULTILINE):
        lacks.append(f"/{spec['matches']}/ does not match {show(found)}")
    return lacks


def measure(found: Any, *, of_text: bool = False) -> float | None:
    """The number that a value is, for bands; None for anything else, and for what no float can hold."""
    value = number(found) if of_text and isinstance(found, str) else found
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def tolerance(case: Case) -> str:
    """The check's tolerance in words, with a blank before it; empty when there is none."""
    return "" if case.within is None else f" within {case.within}"


def line_of(text: str, position: int) -> int:
    """The number, from 1, of the line that holds a position of a text."""
    return text.count("\n", 0, position) + 1
