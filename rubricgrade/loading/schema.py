"""The JSON Schema of a rubric file, for editors: made from the models, plus what only their validators know."""

from __future__ import annotations

import re
from typing import Any, cast

from rubricgrade.rubric import Rubric
from rubricgrade.rubric.base import FUNCTION, IDENTIFIER
from rubricgrade.rubric.check import KINDS

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

# ``\w`` is ASCII in the regular expressions of JSON Schema: letters of every script are let pass by this one.
EDITOR_IDENTIFIER = r"^[^\x00-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f][^\x00-\x2c\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f]*$"

TEXT: Schema = {"type": "string", "minLength": 1}
NOTHING: Schema = {"type": "null"}

SHORT_FORMS: dict[str, list[Schema]] = {
    "Command": [TEXT, {"type": "array", "items": {"type": "string"}, "minItems": 1}],
    "Exists": [TEXT],
    "Human": [NOTHING],
    "Image": [TEXT],
    "Judge": [NOTHING],
    "Pdf": [TEXT],
    "Python": [{"type": "string", "pattern": FUNCTION}],
    "TrajectoryRule": [TEXT],
}
"""What may stand for the whole map."""

EXACTLY_ONE: dict[str, tuple[str, ...]] = {
    "Band": ("at_least", "at_most"),
    "Cases": ("function", "program"),
    "Check": KINDS,
    "Criterion": ("check", "judge", "human", "criteria"),
    "Example": ("text", "trajectory"),
    "ForEach": ("python", "vars"),
}

AT_LEAST_ONE: dict[str, tuple[str, ...]] = {
    "Rubric": ("gates", "criteria"),
    "TrajectoryRule": ("tool", "order", "max_steps", "final_message"),
}

MORE: dict[str, Schema] = {
    "Check": {"dependentRequired": {"with": ["python"]}},
    "Criterion": {
        "if": {"properties": {"veto": {"const": True}}, "required": ["veto"]},
        "then": {"properties": {"points": False}},
        "else": {"required": ["points"]},
    },
}

ENTRY = re.compile(r"    (\w+): (.*)")


def rubric_schema() -> Schema:
    """The schema of a rubric file (draft 2020-12). What spans several parts of a rubric, it can't say."""
    generated = Rubric.model_json_schema(by_alias=True)
    definitions: dict[str, Schema] = {**generated.pop("$defs"), "Rubric": generated}
    amended = {name: _amended(name, definition) for name, definition in sorted(definitions.items())}
    schema = {"$schema": DIALECT, **amended.pop("Rubric"), "$defs": amended}
    return cast("Schema", _for_editors(schema))


def _amended(name: str, definition: Schema) -> Schema:
    text, _, attributes = str(definition.get("description", "")).partition("\n\nAttributes:\n")
    described = _entries(attributes)
    properties: dict[str, Schema] = {
        key: _property(key, value, described.get(key)) for key, value in definition.get("properties", {}).items()
    }
    amended: Schema = {**definition, **MORE.get(name, {})}
    if text:
        amended["description"] = " ".join(text.split())
    if properties:
        amended["properties"] = properties
    if name in EXACTLY_ONE:
        amended["oneOf"] = [{"required": [key]} for key in EXACTLY_ONE[name]]
    if name in AT_LEAST_ONE:
        amended["anyOf"] = [{"required": [key]} for key in AT_LEAST_ONE[name]]
    if name in SHORT_FORMS:
        description = amended.pop("description", "")
        return {"description": description, "anyOf": [*SHORT_FORMS[name], amended]}
    return amended


def _property(key: str, value: Schema, description: str | None) -> Schema:
    """A key's schema without what pydantic adds for Python: titles, and null where a key is simply left out."""
    kept = {name: part for name, part in value.items() if name != "title" and (name, part) != ("default", None)}
    if "anyOf" in kept and key != "equals":
        members = [member for member in kept["anyOf"] if member != NOTHING]
        kept = {**kept, "anyOf": members} if len(members) > 1 else {**kept, **members[0]}
        if len(members) == 1:
            del kept["anyOf"]
    return {"description": description, **kept} if description else kept


def _entries(attributes: str) -> dict[str, str]:
    """The entries of a docstring's ``Attributes``; a trailing ``_`` in a name is Python's, not YAML's."""
    entries: dict[str, str] = {}
    name = ""
    for line in attributes.splitlines():
        if match := ENTRY.fullmatch(line):
            name = match.group(1).rstrip("_")
            entries[name] = match.group(2)
        elif name:
            entries[name] += " " + line.strip()
    return entries


def _for_editors(part: Any) -> Any:
    if isinstance(part, dict):
        changed = {key: _for_editors(value) for key, value in cast("Schema", part).items()}
        if changed.get("pattern") == IDENTIFIER:
            changed["pattern"] = EDITOR_IDENTIFIER
        if set(patterns := changed.get("patternProperties", {})):
            # Names that fit the pattern are not enough: others must be refused.
            (pattern, value), *_ = patterns.items()
            del changed["patternProperties"]
            names = {"pattern": EDITOR_IDENTIFIER if pattern == IDENTIFIER else pattern}
            changed |= {"propertyNames": names, "additionalProperties": value}
        return changed
    if isinstance(part, list):
        return [_for_editors(value) for value in cast("list[Any]", part)]
    return part
