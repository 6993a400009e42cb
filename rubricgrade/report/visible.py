"""Text that others wrote, for a terminal: what it would obey, hide or reorder is spelled out, tabs are spaces."""

from __future__ import annotations

from rubricgrade.evidence.visible import visible as spelled


def visible(text: str, *, lines: bool = False) -> str:
    r"""The text with all that is not plainly drawn as ``\u{1b}``; line ends too, unless `lines` keeps them."""
    shown = spelled(text).replace("\t", "    ")
    return shown if lines else shown.replace("\n", r"\u{a}")


def one_line(text: str, limit: int) -> str:
    """The text on one line of at most `limit` characters: runs of white space become one space, the rest is cut."""
    flat = visible(" ".join(text.split()))
    return flat if len(flat) <= limit else flat[: max(limit - 3, 0)].rstrip() + "..."
