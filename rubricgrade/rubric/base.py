"""What all parts of a rubric have in common: frozen, strict, no unknown keys, no NaN; and the shapes of their texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

T = TypeVar("T")

VISIBLE = r"\S"
IDENTIFIER = r"^[^\W_][\w.\-]*$"
VARIABLE = r"^[A-Za-z_]\w*$"
FUNCTION = r"^[^:\n]+\.py:[A-Za-z_]\w*$"
MODULE = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$"
WHEN = r"^(not\s+)?vars\.[A-Za-z_]\w*$"
PERCENT = r"^\d+(\.\d+)?\s*%$"
CELL = r"^[A-Z]{1,3}[1-9]\d{0,6}$"

IN_WORDS = {
    VISIBLE: "text that is not empty",
    IDENTIFIER: "a name: a letter or digit, then letters, digits, '_', '.' or '-'",
    VARIABLE: "a variable's name: letters, digits and '_', not beginning with a digit",
    FUNCTION: "a file and a function, such as checks/report.py:total",
    MODULE: "a module, such as pytest_mock or anyio.pytest_plugin",
    WHEN: "'vars.NAME' or 'not vars.NAME'",
    PERCENT: "a percentage such as 0.5%",
    CELL: "a cell such as B12",
}
"""What each pattern asks for, for people."""

Text = Annotated[str, StringConstraints(min_length=1, pattern=VISIBLE)]
"""Text with at least one visible character."""

Identifier = Annotated[str, StringConstraints(pattern=IDENTIFIER, max_length=100)]
"""A name: letters and digits of any script, then also ``_ . -``."""

Variable = Annotated[str, StringConstraints(pattern=VARIABLE, max_length=100)]
"""The name of one of the rubric's `vars`."""

Function = Annotated[str, StringConstraints(pattern=FUNCTION)]
"""An author's function: ``checks/report.py:total``."""

Module = Annotated[str, StringConstraints(pattern=MODULE)]
"""A Python module: ``anyio.pytest_plugin``."""

Path = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
"""A relative path; that it stays inside its folder is checked where it is opened."""

Scalar = str | bool | int | float | None
"""A single value: of a cell, of a query, of a line of output."""


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"is no regular expression: {error}") from None
    return pattern


Pattern = Annotated[str, StringConstraints(min_length=1), AfterValidator(_compiles)]
"""A regular expression."""

Many = Annotated[tuple[T, ...], Field(strict=False)]
"""A sequence; lists are taken, and frozen."""

Some = Annotated[tuple[T, ...], Field(strict=False, min_length=1)]
"""A sequence of at least one."""


class Part(BaseModel):
    """A part of a rubric."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )


def as_map(value: Any) -> Mapping[str, Any] | None:
    """A map that is about to be validated, or None for anything else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


def short_form(value: Any, key: str) -> Any:
    """The short form of a part, a bare text, as the map in which it stands for the main key."""
    return {key: value} if isinstance(value, str) else value
