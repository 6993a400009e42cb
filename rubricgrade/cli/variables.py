"""Values for a rubric's variables from the command line: YAML files, and NAME=VALUE with the value in YAML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from rubricgrade.errors import Fault, InputError, RubricError
from rubricgrade.loading import read_data

PAIR = re.compile(r"[A-Za-z_]\w*=")


def read_vars(arguments: Sequence[str]) -> dict[str, Any] | Path | None:
    """What `load_rubric` takes as its `vars`. Of two values for a name, the later argument's counts.

    A single file is left to the loader, which then names the place in it when a value doesn't fit.

    Raises:
        InputError: A file can't be read, or something holds no map of variables.
    """
    if not arguments:
        return None
    if len(arguments) == 1 and not PAIR.match(arguments[0]):
        return Path(arguments[0])
    values: dict[str, Any] = {}
    for argument in arguments:
        values |= _pair(argument) if PAIR.match(argument) else _file(Path(argument))
    return values


def _pair(argument: str) -> dict[str, Any]:
    name, _, value = argument.partition("=")
    return _map(f"{name}: {value}".encode(), "--vars")


def _file(path: Path) -> dict[str, Any]:
    try:
        return _map(path.read_bytes(), str(path))
    except OSError as error:
        raise InputError(Fault(f"can't be read: {error.strerror}", str(path))) from error


def _map(source: bytes, file: str) -> dict[str, Any]:
    data = read_data(source, file)
    if not isinstance(data, dict):
        raise RubricError(Fault("a map of variables is needed here", file))
    return cast("dict[str, Any]", data)
