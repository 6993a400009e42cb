"""Whether the data has the shape of a rubric: pydantic's complaints, each at its place and in plain words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from rubricgrade.errors import Fault
from rubricgrade.loading import codes
from rubricgrade.loading.document import Document, Place
from rubricgrade.loading.keys import explain_unknown
from rubricgrade.misfits import ONE_OF, needed, scalar, value_in_words
from rubricgrade.rubric.base import IN_WORDS
from rubricgrade.rubric.rules import nearest

NUMERIC = re.compile(r"[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?\Z")
VARIABLE = "text, a number, true or false, or a list of texts"


def shape_faults(document: Document, error: ValidationError) -> dict[Place, list[Fault]]:
    """What is wrong with the shape, by place. Places that have no true value (`Document.lost`) are passed over."""
    needs: dict[Place, list[str]] = {}
    faults: dict[Place, list[Fault]] = {}

    # What a map as a whole must hold can't be said when one of its values is lost.
    around_lost = {lost[:end] for lost in document.lost for end in range(len(lost) + 1)}

    def add(place: Place, message: str, code: str, *, at_key: bool = False) -> None:
        lost = any(place[:end] in document.lost for end in range(len(place) + 1))
        if not lost and (at_key or place not in around_lost):
            faults.setdefault(place, []).append(document.fault(place, message, code, at_key=at_key))

    for each in error.errors(include_url=False):
        loc, kind, context = each["loc"], each["type"], each.get("ctx", {})
        place = document.known(loc)
        if kind == "missing":
            add(place, f"{_label(document, place)} has no {str(loc[-1])!r}", codes.MISSING, at_key=True)
        elif kind == "extra_forbidden":
            add(place, explain_unknown(loc), codes.UNKNOWN, at_key=True)
        elif loc[-1:] == ("[key]",):
            add(place, f"{str(place[-1])!r} must be {needed(kind, context, IN_WORDS)}", codes.VALUE, at_key=True)
        elif place[:1] == ("vars",) and len(place) > 1:
            needs.setdefault(place[:2], [VARIABLE])
        elif kind == "value_error":
            add(place, f"{_label(document, place)}: {context['error']}", codes.VALUE)
        elif not (kind == "too_short" and each["input"]):
            # pydantic counts only the items that are good themselves: a list that has any is not empty.
            needs.setdefault(place, []).append(needed(kind, context, IN_WORDS))
    for place, wanted in needs.items():
        add(place, _wrong(document, place, wanted), codes.VALUE)
    return faults


def value_at(data: Any, place: Iterable[str | int]) -> Any:
    """The value at a place of the data; None when there is none."""
    for part in place:
        try:
            data = data[part]
        except (LookupError, TypeError):
            return None
    return data


def _wrong(document: Document, place: Place, wanted: list[str]) -> str:
    value = value_at(document.data, place)
    needs = " or ".join(dict.fromkeys(wanted))
    # What is no map may be any file that was taken for a rubric, so none of it is shown.
    shown = value_in_words(value) if place or not isinstance(value, str) else "plain text"
    return f"{_label(document, place)} must be {needs}, not {shown}{_hint(value, wanted)}"


def _hint(value: Any, wanted: list[str]) -> str:
    text = any(want.startswith(("text", "a name", "one of")) for want in wanted)
    number = any("number" in want for want in wanted)
    if isinstance(value, str):
        if number and NUMERIC.match(value):
            return "; take the quotes off"
        if "true or false" in wanted and value.lower() in {"yes", "no", "on", "off"}:
            return f"; write {'true' if value.lower() in {'yes', 'on'} else 'false'}"
        choices = [choice for want in wanted if want.startswith(ONE_OF) for choice in want[len(ONE_OF) :].split(", ")]
        return nearest(value, choices)
    if isinstance(value, bool | int | float) and text:
        return f'; quote it: "{scalar(value)}"'
    return ""


def _label(document: Document, place: Place) -> str:
    """What an author calls a place: its key, the id of an item, or its number in a list."""
    match place:
        case (*_, "gates" | "criteria" as section, int() as index):
            name = value_at(document.data, (*place, "id"))
            called = repr(name) if isinstance(name, str) else str(index + 1)
            return f"{'gate' if section == 'gates' else 'criterion'} {called}"
        case (*_, str() as key, int() as index):
            return f"item {index + 1} of {key!r}"
        case _:
            return repr(place[-1]) if place else "the rubric"
