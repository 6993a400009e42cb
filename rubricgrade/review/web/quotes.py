"""Evidence as links into the transcript, and as marks in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rubricgrade.result import Evidence
from rubricgrade.review.marking import Mark
from rubricgrade.review.transcript import Transcript, anchor_of

STANDINGS = {
    "verified": "verified word for word",
    "near": "near, not word for word",
    "not_found": "not found",
    "code": "found by code",
}


@dataclass(frozen=True, slots=True)
class Quote:
    """One quote as a page shows it.

    Attributes:
        name: Of its mark in the page.
        text: As it was given.
        standing: Whether it was found, as `Evidence` has it.
        where: The address; None if it has none.
        anchor: The place's name in the page; empty if the place is not there.
        marked: Whether there is a mark to go to.
        style: A class of our style sheet.
    """

    name: str
    text: str
    standing: str
    where: str | None
    anchor: str
    marked: bool
    style: str

    @property
    def said(self) -> str:
        """The standing in words."""
        return STANDINGS[self.standing]

    @property
    def target(self) -> str:
        """What a link to it goes to: its mark, else its place."""
        return self.name if self.marked else self.anchor


def quotes_of(
    evidence: Sequence[Evidence], transcript: Transcript, *, prefix: str, title: str, style: str
) -> tuple[list[Quote], dict[str, list[Mark]]]:
    """Quotes, and the marks of those that stand in the transcript, by address.

    Args:
        evidence: What was quoted.
        transcript: Where.
        prefix: Begins the names of the marks.
        title: What to say of each.
        style: A class of our style sheet.
    """
    quotes: list[Quote] = []
    marks: dict[str, list[Mark]] = {}
    for number, one in enumerate(evidence, 1):
        name = f"{prefix}{number}"
        place = transcript.place(one.where)
        marked = place is not None and one.span is not None and 0 <= one.span[0] < one.span[1] <= len(place.text)
        if place is not None and one.span is not None and marked:
            marks.setdefault(place.where, []).append(Mark(*one.span, name, title, style))
        anchor = anchor_of(place) if place else ""
        quotes.append(Quote(name, one.quote, one.verified, one.where, anchor, marked, style))
    return quotes, marks


def joined(several: Iterable[dict[str, list[Mark]]]) -> dict[str, list[Mark]]:
    """Marks of several kinds, by address."""
    found: dict[str, list[Mark]] = {}
    for marks in several:
        for where, listed in marks.items():
            found.setdefault(where, []).extend(listed)
    return found
