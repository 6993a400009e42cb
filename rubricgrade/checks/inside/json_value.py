"""``json``: a value in a JSON file, found by a path such as ``$.totals[0].amount``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sized
from typing import Any, cast

from rubricgrade.checks.inside.case import AuthorFault, Case, CheckResult, Seen
from rubricgrade.checks.inside.expect import judged

STEP = re.compile(r"""\.([^.\[\]'"\s]+)|\[(-?[0-9]{1,9})\]|\[\s*(?:"([^"]*)"|'([^']*)')\s*\]""")


class Absent(LookupError):
    """A path leads to nothing."""


def check(case: Case, spec: Mapping[str, Any]) -> CheckResult:
    """Met when the value is as expected (or there at all); measures it when it is a number."""
    path, at = spec["path"], spec.get("at", "$")
    try:
        found = pick(case.read_json(path), at)
    except Absent as error:
        message = f"{path}: {at} is not there: {error}"
        return CheckResult(value=False, evidence=[Seen(message, path)], message=message)
    return judged(case, spec, found, name=at, where=f"{path}:{at}")


def pick(value: Any, path: str) -> Any:
    """The value at a path.

    Args:
        value: A JSON value.
        path: ``$``, then ``.name``, ``["any name"]`` or ``[index]`` (negative ones count from the end).

    Raises:
        Absent: The path leads to nothing.
        AuthorFault: It is no path.
    """
    for name in steps_of(path):
        if not _has(value, name):
            what = repr(name) if isinstance(name, str) else f"item {name}"
            raise Absent(f"no {what} in {kind_of(value)}")
        value = value[name]
    return value


def steps_of(path: str) -> list[str | int]:
    """The names and indexes of a path. Raises `AuthorFault` when it is none."""
    steps: list[str | int] = []
    rest = path.removeprefix("$") if path.startswith("$") else f".{path}"
    while rest:
        step = STEP.match(rest)
        if step is None:
            raise AuthorFault(f"{path!r} is no path such as $.totals[0].amount: it can't be read from {rest[:40]!r}")
        name, index, double, single = step.groups()
        quoted = double if single is None else single
        steps.append(int(index) if index is not None else name if quoted is None else quoted)
        rest = rest[step.end() :]
    return steps


def _has(value: object, name: str | int) -> bool:
    if isinstance(name, str):
        return isinstance(value, dict) and name in value
    size = len(cast("Sized", value)) if isinstance(value, list) else 0
    return -size <= name < size


def kind_of(value: object) -> str:
    """A value's kind in words."""
    if isinstance(value, dict | list):
        size = len(cast("Sized", value))
        return f"an object of {size} keys" if isinstance(value, dict) else f"a list of {size}"
    return "null" if value is None else f"a {type(value).__name__}"
