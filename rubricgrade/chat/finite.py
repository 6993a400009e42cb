"""A JSON schema under which a reply comes to an end: a small model repeats itself for as long as it may."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

LONGEST = 1000
"""Characters of a text; 120 words have some 800."""

MOST = 12
"""Entries of a list of texts, or of records with texts; the most that a prompt of ours asks for."""


def finite(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The same schema with an end to every free text and to every list of them.

    Lists of other things, such as one answer for each question, are as long as they were. Bounds that stand there
    already are kept.
    """
    found: dict[str, Any] = dict(schema)
    if "properties" in schema:
        properties = cast("Mapping[str, Mapping[str, Any]]", schema["properties"])
        found["properties"] = {name: finite(each) for name, each in properties.items()}
    if "items" in schema:
        found["items"] = finite(schema["items"])
    match schema.get("type"):
        case "string" if "enum" not in schema:
            return {"maxLength": LONGEST, **found}
        case "array" if _is_free(schema.get("items", {})):
            return {"maxItems": MOST, **found}
        case _:
            return found


def _is_free(item: Mapping[str, Any]) -> bool:
    """Whether an entry is a text, or a record of nothing but texts and choices with at least one free text."""
    if item.get("type") != "object":
        return item.get("type") == "string" and "enum" not in item
    values = list(cast("Mapping[str, Mapping[str, Any]]", item.get("properties", {})).values())
    return all(each.get("type") == "string" for each in values) and any(map(_is_free, values))
