"""What pydantic finds wrong with data, in our words: where, what it must be, and what it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pydantic import ValidationError

NEEDED = {
    "string_type": "text",
    "float_type": "a number",
    "float_parsing": "a number",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "none_required": "null",
    "tuple_type": "a list",
    "list_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "dict_type": "a map of keys",
    "model_type": "a map of keys",
    "model_attributes_type": "a map of keys",
    "dataclass_type": "a map of keys",
    "finite_number": "a finite number",
    "string_too_short": "text that is not empty",
    "too_short": "a list of at least one item",
}
BOUNDS = {
    "greater_than": "a number above {gt:g}",
    "greater_than_equal": "a number of at least {ge:g}",
    "less_than": "a number below {lt:g}",
    "less_than_equal": "a number of at most {le:g}",
    "string_too_long": "text of at most {max_length} characters",
    "too_long": "a list of at most {max_length} items",
}
ONE_OF = "one of "
LONGEST = 40
"""Characters of a text that are shown whole."""

Place = tuple[str | int, ...]


def misfits(error: ValidationError, *, shown: bool = True, data: object = None) -> list[str]:
    """One sentence for each thing that is wrong, such as ``'votes[0]' must be a whole number, not the text 'two'``.

    Args:
        error: What pydantic has raised.
        shown: Whether values are shown: those of a secret, or of somebody hostile in a place that is trusted, are not.
        data: What was read, if it is at hand: pydantic's places also name kinds, which stand nowhere in the data.
    """
    needs: dict[Place, list[str]] = {}
    values: dict[Place, Any] = {}
    said: dict[Place, list[str]] = {}
    for each in error.errors(include_url=False):
        kind, context = each["type"], each.get("ctx", {})
        place = each["loc"] if data is None else _known(each["loc"], data)
        told = _told(place, kind, context)
        if told is not None:
            said.setdefault(place, []).append(told)
        elif not (kind == "too_short" and each["input"]):
            # Pydantic counts only the items that are good themselves: a list that has any is not empty.
            needs.setdefault(place, []).append(needed(kind, context, message=each["msg"]))
            values[place] = each["input"]
    for place, wanted in needs.items():
        value = values[place]
        what = value_in_words(value) if shown else kind_in_words(value)
        told = f"must be {' or '.join(dict.fromkeys(wanted))}, not {what}"
        said.setdefault(place, []).append(f"{address(place)!r} {told}" if place else told)
    return [told for each in said.values() for told in each]


def first_misfit(error: ValidationError, *, shown: bool = True) -> str:
    """The first of `misfits`."""
    return misfits(error, shown=shown)[0]


def address(place: Place) -> str:
    """A place in the data as one writes it: ``steps[0].role``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{_cut(part)}" for part in place).lstrip(".")


def needed(
    kind: str, context: Mapping[str, Any], patterns: Mapping[str, str] | None = None, *, message: str = ""
) -> str:
    """What a value must be, by the kind of pydantic's complaint.

    Args:
        kind: Pydantic's name for it.
        context: What it gives with it.
        patterns: What a regular expression asks for, for people.
        message: Pydantic's own sentence, for a kind that has no words here.
    """
    if kind in ("literal_error", "enum"):
        choices = _choices(context)
        return ONE_OF + ", ".join(choices) if len(choices) > 1 else choices[0]
    if kind == "string_pattern_mismatch":
        return (patterns or {}).get(context["pattern"], f"text that matches {context['pattern']}")
    if kind in BOUNDS:
        return BOUNDS[kind].format_map(context)
    if kind in NEEDED:
        return NEEDED[kind]
    return re.sub(r"^\w+ should (?:be|have|match) ", "", message) or kind.replace("_", " ")


def value_in_words(value: Any) -> str:
    """A value, not too long; of a map or a list only that it is one."""
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list | tuple):
        return "a list" if cast("list[Any]", value) else "an empty list"
    if isinstance(value, str):
        return f"the text {_quoted(value)}"
    return "nothing" if value is None else _cut(scalar(value))


def kind_in_words(value: Any) -> str:
    """What kind of value it is, and nothing of it."""
    if value is None or isinstance(value, dict | list | tuple):
        return value_in_words(value)
    if isinstance(value, bool):
        return "true or false"
    return (
        "this text" if isinstance(value, str | bytes) else "this number" if isinstance(value, int | float) else "this"
    )


def scalar(value: object) -> str:
    """A number, true or false as YAML and JSON write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _told(place: Place, kind: str, context: Mapping[str, Any]) -> str | None:
    """A sentence on what is no wrong value in its place; None for what is one."""
    around, last = place[:-1], place[-1] if place else ""
    key = _quoted(str(last))
    inside = f"{address(around)!r} " if around else ""
    match kind:
        case "missing":
            return f"{inside}has no item {last + 1}" if isinstance(last, int) else f"{inside}has no {key}"
        case "extra_forbidden":
            return f"{inside}has the unknown key {key}" if inside else f"unknown key {key}"
        case "json_invalid":
            return f"is no JSON: {context['error']}"
        case "value_error" | "assertion_error":
            return f"{address(place)!r}: {context['error']}" if place else str(context["error"])
        case "union_tag_invalid" | "union_tag_not_found":
            return _untagged(place, context)
        case _:
            return None


def _untagged(place: Place, context: Mapping[str, Any]) -> str:
    """A map whose own word for its kind is missing or unknown."""
    key = str(context["discriminator"]).strip("'")
    expected = context.get("expected_tags")
    if expected is None:
        return f"{address(place)!r} has no {key!r}" if place else f"has no {key!r}"
    choices = str(expected).replace("'", "")
    return f"{address((*place, key))!r} must be one of {choices}, not the text {_quoted(str(context['tag']))}"


def _known(place: Place, data: Any) -> Place:
    """A place without those of its parts that stand nowhere in the data; the last may be what is missing there."""
    found: list[str | int] = []
    for number, part in enumerate(place):
        try:
            data = data[part]
        except (LookupError, TypeError):
            if number < len(place) - 1:
                continue
        found.append(part)
    return tuple(found)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 10]}..."


def _quoted(text: str) -> str:
    return repr(text) if len(text) <= LONGEST else f"{text[: LONGEST - 10]!r}..."


def _choices(context: Mapping[str, Any]) -> list[str]:
    """Pydantic gives the members of a Literal only as a text: ``'a', 'b' or 'c'``."""
    return re.split(r", | or ", str(context["expected"]).replace("'", ""))
