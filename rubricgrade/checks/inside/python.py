"""``python``: the author's own function, from a sealed file."""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, cast

from rubricgrade.checks.inside.artifacts import parts_of
from rubricgrade.checks.inside.case import AuthorFault, Case, CheckResult
from rubricgrade.checks.inside.compare import show
from rubricgrade.checks.inside.finding import Unusable
from rubricgrade.checks.inside.returning import NoItems, used


def check(case: Case, spec: Mapping[str, Any]) -> CheckResult:
    """Call the function with the case; a bool, a number or a `CheckResult` is its verdict. Raises `NoVerdict`."""
    name = spec["function"]
    function = load(case.sealed, name)

    def verdict(value: object) -> CheckResult:
        result = as_result(value, name)
        if result.value is not None and not case.any_number and not 0 <= result.value <= 1:
            raise Unusable(f"{name} gave {result.value:g}, which is not from 0 to 1; only 'bands' can use that")
        return result

    return used(verdict, function, function(case))


def items(case: Case, function: str) -> list[str]:
    """Call a function of a ``for_each``: a list of texts. Raises `NoItems` for anything else."""
    listing = load(case.sealed, function)

    def texts(found: object) -> list[str]:
        listed: Sequence[object] = cast("Sequence[object]", found) if isinstance(found, list | tuple) else [None]
        items = [item for item in listed if isinstance(item, str) and item.strip()]
        if len(items) != len(listed):
            raise Unusable(f"{function} returned {show(found, 80)}; a list of texts is wanted")
        return items

    return used(texts, listing, listing(case), NoItems)


def load(sealed: Path, function: str) -> Callable[..., Any]:
    """The function ``folder/file.py:name``, its file imported with its own folder and the sealed one to import from."""
    file, _, name = function.rpartition(":")
    path = sealed.joinpath(*parts_of(file))
    if not path.is_file():
        raise AuthorFault(f"the sealed file {file} is missing")
    sys.path[:0] = [str(path.parent), str(sealed)]
    # A name of its own: a file called csv.py is not to stand in for the standard module.
    spec = importlib.util.spec_from_file_location(f"sealed_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise AuthorFault(f"{file} can't be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    found = getattr(module, name, None)
    if not callable(found):
        raise AuthorFault(f"{file} has no function {name!r}")
    return found


def as_result(value: object, function: str) -> CheckResult:
    """What a function returned, as a result.

    Raises:
        Unusable: It is no verdict: None, a text, a number that is not finite, anything else. It may well be what the
            agent's code has answered.
    """
    if isinstance(value, bool):
        return CheckResult(value, message=f"{function} says {show(value)}")
    if isinstance(value, int | float):
        number = finite(value, function)
        return CheckResult(number, measured=number, message=f"{function} gave {number:g}")
    if not isinstance(value, CheckResult):
        raise Unusable(f"{function} returned {show(value, 80)}; a bool, a number or a CheckResult is wanted")
    if value.value is None and value.measured is None and not value.fields:
        raise Unusable(f"{function} returned a CheckResult with neither value nor measured number nor fields")
    if odd := next(_misfits(value), None):
        raise Unusable(f"{function} returned a CheckResult with {odd}")
    for number in (value.value, value.measured):
        if number is not None:
            finite(number, function)
    for number in value.fields.values():
        finite(number, function)
    return value


def _misfits(result: CheckResult) -> Iterator[str]:
    """Fields that hold what does not belong there; nothing keeps an author from that."""
    wanted: tuple[tuple[str, type | UnionType | tuple[type, ...], str], ...] = (
        ("fields", Mapping, "a mapping of numbers"),
        ("evidence", (list, tuple, str), "a list"),
        ("message", str, "a text"),
        ("passed", int | None, "a whole number"),
        ("total", int | None, "a whole number"),
        ("faulted", int, "a whole number"),
        ("twinned", bool, "True or False"),
    )
    for name, kind, told in wanted:
        value: object = getattr(result, name)
        if not isinstance(value, kind):
            yield f"{name} {show(value, 80)}; {told} is wanted there"


def finite(number: object, function: str) -> float:
    """A number as a float. Raises `Unusable` when it is none, not finite, or larger than a float can be."""
    if not isinstance(number, bool | int | float):
        raise Unusable(f"{function} gave {show(number, 80)} where a number belongs")
    try:
        value = float(number)
    except OverflowError:
        raise Unusable(f"{function} gave a number that is too large") from None
    if not math.isfinite(value):
        raise Unusable(f"{function} gave {number}")
    return value
