"""Reading a file of another program's rubrics: which format it is in is told by its content, or by the caller."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rubricgrade.errors import Fault, InputError, RubricError
from rubricgrade.interchange import autorubric, lists, paperbench, promptfoo, rar, rewardkit, verifiers
from rubricgrade.interchange.draft import Imported
from rubricgrade.readers.jsontext import NotJson, parse_each
from rubricgrade.readers.shapes import as_list, as_object

MOST_BYTES = 256 << 20
MOST_VALUES = 2_000_000


@dataclass(frozen=True, slots=True)
class Format:
    """One that can be read."""

    matches: Callable[[Any], bool]
    read: Callable[[Any, str], list[Imported]]


IMPORTS: dict[str, Format] = {
    "paperbench": Format(paperbench.matches, paperbench.read),
    "healthbench": Format(lists.is_healthbench, lists.read_healthbench),
    "rar": Format(rar.matches, rar.read),
    "rewardkit": Format(rewardkit.matches, rewardkit.read),
    "verifiers": Format(verifiers.matches, verifiers.read),
    "promptfoo": Format(promptfoo.matches, promptfoo.read),
    "gandalf": Format(lists.is_gandalf, lists.read_gandalf),
    "autorubric": Format(autorubric.matches, autorubric.read),
    "rubric": Format(lists.is_requirements, lists.read_requirements),
}
"""By name, the more particular first."""


def import_rubrics(path: Path, source: str | None = None) -> list[Imported]:
    """Read every rubric of a file.

    Args:
        path: JSON, JSONL, YAML or TOML.
        source: The format's name; default: whichever fits the content.

    Raises:
        InputError: The file can't be read, is of no known format, or holds what can't be a rubric of ours.
    """
    value = _parsed(path)
    if source is not None and source not in IMPORTS:
        raise InputError(Fault(f"there is no format {source!r}; known are {', '.join(IMPORTS)}", str(path)))
    name = source or next((name for name, each in IMPORTS.items() if each.matches(value)), None)
    if name is None or not IMPORTS[name].matches(value):
        what = f"looks like no rubric of {source}" if source else f"is of no known format ({', '.join(IMPORTS)})"
        raise InputError(Fault(what, str(path)))
    try:
        return IMPORTS[name].read(value, path.stem)
    except RubricError as error:
        faults = [Fault(f"can't be a rubric here: {fault.message}", str(path)) for fault in error.faults]
        raise InputError(faults) from error
    except InputError as error:
        raise InputError([Fault(fault.message, str(path)) for fault in error.faults]) from error


def _parsed(path: Path) -> Any:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(Fault(f"is larger than {MOST_BYTES >> 20} MiB", str(path)))
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise InputError(Fault(f"can't be read: {error.strerror}", str(path))) from error
    except UnicodeDecodeError as error:
        raise InputError(Fault(f"is no UTF-8 text: {error.reason}", str(path))) from error
    if path.suffix.lower() == ".toml":
        return _loaded(path, tomllib.loads, text)
    if text.lstrip().startswith(("{", "[")):
        try:
            return _json(text)
        except NotJson as error:
            if error.syntax and path.suffix.lower() not in {".json", ".jsonl", ".ndjson"}:
                return _loaded(path, _yaml, text)
            raise InputError(Fault(f"can't be parsed: {error.reason}", str(path), error.line, error.column)) from None
    return _loaded(path, _yaml, text)


def _json(text: str) -> Any:
    """The value of a JSON text, or the values of one that has several, such as one on each line."""
    values = [value for value, _, _ in parse_each(text)]
    return values[0] if len(values) == 1 else values


def _yaml(text: str) -> Any:
    """The value of a YAML text. A few aliases can stand for more than fits in memory, so what they make is counted."""
    value = yaml.safe_load(text)
    waiting, count = [value], 0
    while waiting:
        item = waiting.pop()
        count += 1
        if count > MOST_VALUES:
            raise ValueError(f"it holds more than {MOST_VALUES} values")
        if (fields := as_object(item)) is not None:
            waiting += fields.values()
        elif (found := as_list(item)) is not None:
            waiting += found
    return value


def _loaded(path: Path, load: Callable[[str], Any], text: str) -> Any:
    try:
        return load(text)
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise InputError(Fault(f"can't be parsed: {error}", str(path))) from error
