"""Templates to pages. Whatever a template prints is made visible first and escaped; nothing can be forgotten."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from rubricgrade.evidence import visible
from rubricgrade.report.arithmetic import failed
from rubricgrade.report.numbers import count, money, number, seconds, span
from rubricgrade.review.redaction import redacted

TEMPLATES = Path(__file__).parent / "templates"


def environment(*, redact: bool) -> Environment:
    """What draws templates.

    Args:
        redact: Whether secrets and personal data are hidden in all that is printed.
    """
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize(redact=redact),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(FILTERS)
    return made


def percent(value: float) -> str:
    """A share as a whole percentage, never rounded to all or nothing."""
    shown = round(100 * value)
    if shown in (0, 100) and value not in (0, 1):
        return "<1 %" if value < 0.5 else ">99 %"  # noqa: PLR2004 - the middle
    return f"{shown} %"


def short(digest: str) -> str:
    """The beginning of a hash."""
    return digest.removeprefix("sha256:")[:12]


def safe(text: str) -> Markup:
    """Text of ours for an attribute, such as an address: escaped, and left as it is otherwise."""
    return Markup.escape(text)


FILTERS: dict[str, Any] = {
    "below": failed,
    "counted": count,
    "money": money,
    "number": number,
    "percent": percent,
    "seconds": seconds,
    "short": short,
    "span": span,
}
"""What templates may say behind a value."""


def _finalize(*, redact: bool) -> Callable[[Any], Any]:
    def finalize(value: Any) -> Any:
        if isinstance(value, Markup) or not isinstance(value, str):
            return value
        return visible(redacted(value) if redact else value)

    return finalize
