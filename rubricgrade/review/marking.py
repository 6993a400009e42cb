"""Text cut into pieces where a mark or something hidden begins or ends; a piece is drawn in one way throughout."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rubricgrade.review.redaction import found_in


@dataclass(frozen=True, slots=True)
class Mark:
    """A quote in a text.

    Attributes:
        start: In the text, in characters.
        end: In the text.
        name: Which quote it is.
        title: What it is, for who points at it.
        style: A class of our own style sheet.
    """

    start: int
    end: int
    name: str
    title: str
    style: str = "judge"


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a text.

    Attributes:
        text: As it came; empty where something is hidden.
        marks: Which marks lie on it, the one that begins last first.
        begins: Names of the marks whose first piece this is.
        hidden: What is hidden here; empty if nothing is.
        left_out: Characters that are not shown here.
    """

    text: str = ""
    marks: tuple[Mark, ...] = ()
    begins: tuple[str, ...] = ()
    hidden: str = ""
    left_out: int = 0


def cut(text: str, marks: Iterable[Mark], shown: Sequence[tuple[int, int]], *, redact: bool) -> list[Piece]:
    """The pieces of a text.

    Args:
        text: All of it.
        marks: What to mark; those outside the text are left out.
        shown: Start and end of what is shown, in order, apart from each other.
        redact: Whether to hide secrets and personal data.
    """
    usable = [mark for mark in marks if 0 <= mark.start < mark.end <= len(text)]
    pieces: list[Piece] = []
    begun: set[str] = set()
    done = 0
    for start, end in shown:
        if start > done:
            pieces.append(Piece(left_out=start - done))
        pieces += _range(text, usable, start, end, begun, redact=redact)
        done = end
    if done < len(text):
        pieces.append(Piece(left_out=len(text) - done))
    return pieces


def _range(text: str, marks: Sequence[Mark], start: int, end: int, begun: set[str], *, redact: bool) -> list[Piece]:
    hidden = found_in(text, start, end) if redact else []
    cuts = {start, end}
    for one in (*marks, *hidden):
        cuts |= {at for at in (one.start, one.end) if start < at < end}
    edges = sorted(cuts)
    pieces: list[Piece] = []
    for left, right in pairwise(edges):
        on = tuple(sorted((mark for mark in marks if mark.start <= left < mark.end), key=lambda mark: -mark.start))
        new = tuple(mark.name for mark in on if mark.name not in begun)
        begun.update(new)
        kind = next((one.kind for one in hidden if one.start <= left < one.end), "")
        if kind and pieces and pieces[-1].hidden == kind and not new:
            continue
        pieces.append(Piece("" if kind else text[left:right], on, new, kind))
    return pieces
