"""The parts of a task directory that every import writes, and what it hands back."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, cast

from rubricgrade.episode.harbor import NAME
from rubricgrade.errors import Fault, InputError

UNSAFE = (
    "beside the agent's code, which can make them pass: `rubricgrade redteam` shows how; "
    "a pytest check in tests/rubric.yaml is safer"
)
"""What is said of a script that is taken over as it is."""
TOLD = 300
"""Characters of an exception."""
SOLVE = """#!/bin/bash
set -e
git apply --whitespace=nowarn /solution/solution.patch
"""


@dataclass(frozen=True, slots=True)
class Imported:
    """A task that was imported.

    Attributes:
        folder: The new task directory.
        notes: How its tests decide, and what could not be carried over or works otherwise than before.
    """

    folder: Path
    notes: tuple[str, ...]


class Unsealable(Exception):
    """Why tests can't become a sealed suite, in words that go on with "so"."""


@contextmanager
def refusing(name: str) -> Generator[None]:
    """Raise what an input that nobody has foreseen makes our code raise as its fault: others are still imported."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name}: can't be imported: {type(error).__name__}: {str(error)[:TOLD]}") from error


def check_name(target: Path) -> None:
    """See that a task directory has the name of a task. Raises `InputError`."""
    if not NAME.match(target.name):
        raise InputError(Fault("is no name for a task: letters, digits, '.', '_' and '-'", str(target)))


def write_task(target: Path, instruction: str, settings: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    """Write ``task.toml`` and ``instruction.md``."""
    lines = ['schema_version = "1.4"', "", "[task]", f"name = {_toml(f'imported/{target.name}')}", "", "[metadata]"]
    lines += [f"{key} = {_toml(value)}" for key, value in metadata.items() if key.replace("_", "").isalnum()]
    lines += ["", "[metadata.rubricgrade]"]
    lines += [f"{key} = {_toml(value)}" for key, value in settings.items() if value is not None]
    (target / "task.toml").write_text("\n".join(lines) + "\n")
    (target / "instruction.md").write_text(instruction.strip() + "\n")


def write_solution(target: Path, patch: bytes) -> None:
    """Write ``solution/`` for a reference that is a patch, of files in any encoding."""
    (target / "solution").mkdir()
    (target / "solution" / "solution.patch").write_bytes(patch)
    (target / "solution" / "solve.sh").write_text(SOLVE)


def _toml(value: Any) -> str:
    """A scalar or a list of texts in TOML; anything else as text."""
    if isinstance(value, bool | int | float) and isfinite(value):
        return json.dumps(value)
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in cast("list[Any]", value)) + "]"
    # What JSON escapes, TOML escapes alike, and one sign more.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
