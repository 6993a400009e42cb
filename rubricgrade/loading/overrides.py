"""Values that a task gives to a rubric's variables."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, cast

from rubricgrade.errors import Fault
from rubricgrade.loading import codes
from rubricgrade.loading.document import Document, read_document
from rubricgrade.rubric.rules import nearest

Overrides = Mapping[str, Any] | str | PathLike[str]


def overridden(document: Document, given: Overrides | None) -> tuple[dict[str, Any], list[Fault]]:
    """The rubric's variables with what a task gives, and what is wrong with that.

    Args:
        document: The rubric; its ``vars`` say which names and types there are.
        given: A map, or the path of a YAML file.
    """
    declared = _declared(document)
    if given is None:
        return declared, []
    values = _values(given)
    if values.faults:
        return declared, values.faults
    if not isinstance(values.data, dict):
        return declared, [values.fault((), "a map of variables is needed here", codes.OVERRIDE)]
    faults: list[Fault] = []
    for name, value in values.keyed.items():
        if name not in declared:
            message = f"the rubric has no variable {name!r}{nearest(name, declared)}"
            faults.append(values.fault((name,), message, codes.OVERRIDE, at_key=True))
        elif message := _unlike(declared[name], value):
            faults.append(values.fault((name,), f"variable {name!r} {message}", codes.OVERRIDE))
    given_values = {name: _like(declared.get(name), value) for name, value in values.keyed.items()}
    return {**declared, **given_values}, faults


def unset(document: Document, variables: Mapping[str, Any]) -> list[Fault]:
    """A fault for each variable that still has no value."""
    return [
        document.fault(
            ("vars", name), f"variable {name!r} has no value: the task must give it", codes.UNSET, at_key=True
        )
        for name, value in variables.items()
        if value is None
    ]


def _declared(document: Document) -> dict[str, Any]:
    declared = document.keyed.get("vars")
    return dict(cast("dict[str, Any]", declared)) if isinstance(declared, dict) else {}


def _values(given: Overrides) -> Document:
    if isinstance(given, Mapping):
        listed = {name: _listed(value) for name, value in given.items()}
        return Document("vars", listed, {})
    path = Path(given)
    try:
        return read_document(path.read_bytes(), str(path))
    except OSError as error:
        return Document(str(path), faults=[Fault(f"can't be read: {error.strerror}", str(path), code=codes.OVERRIDE)])


def _listed(value: Any) -> Any:
    return list(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value


def _unlike(default: Any, value: Any) -> str:
    """Why a value can't stand for a default; a whole number may stand for a number, and null takes anything."""
    if value is None:
        return "must have a value"
    if (
        default is None
        or _kind(default) == _kind(value)
        or (_kind(default), _kind(value)) == ("a number", "a whole number")
    ):
        return ""
    return f"must be {_kind(default)}, as in the rubric, not {_kind(value)}"


def _like(default: Any, value: Any) -> Any:
    """A whole number that stands for a number becomes one, so that 2 and 2.0 give the same hash."""
    return float(value) if isinstance(default, float) and isinstance(value, int) else value


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "true or false"
        case int():
            return "a whole number"
        case float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "a map"
