"""The transcript in a page: one of its pages at a time, or the steps that hold what was searched for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starlette.requests import Request

from rubricgrade.review.marking import Mark
from rubricgrade.review.transcript import Block, Transcript
from rubricgrade.review.web.front import front_of

MOST_FOUND = 200
"""Steps that a search shows."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A part of a transcript.

    Attributes:
        page: Its number.
        before: The page before it; None if there is none.
        after: The page after it.
        blocks: What is shown.
        searched: Whether it is what a search found; then there are no pages.
    """

    page: int
    before: int | None
    after: int | None
    blocks: Sequence[Block]
    searched: bool = False


def shown_of(request: Request, transcript: Transcript, marks: Mapping[str, Sequence[Mark]]) -> Shown:
    """What an address asks for: ``page=2``, the page with a place (``at=at-12-text``), a search (``find=``, ``tool=``).

    ``whole=at-12-text`` shows a place without folding it. A page that is not there is the first one.
    """
    query = request.query_params
    redact = front_of(request).redact
    whole = query.get("whole", "")
    find, tool = query.get("find", ""), query.get("tool", "")
    if find or tool:
        numbers = transcript.having(find, tool)[:MOST_FOUND]
        return Shown(0, None, None, list(transcript.blocks(numbers, marks, redact=redact, whole=whole)), searched=True)
    wanted = query.get("page", "")
    number = transcript.page_of(query.get("at") or whole) if not wanted.isdecimal() else int(wanted[:6])
    number = number if number < len(transcript.pages) else 0
    blocks = list(transcript.blocks(range(*transcript.pages[number]), marks, redact=redact, whole=whole))
    return Shown(
        number, number - 1 if number else None, number + 1 if number + 1 < len(transcript.pages) else None, blocks
    )


def marked_blocks(
    transcript: Transcript, marks: Mapping[str, Sequence[Mark]], pages: Sequence[int], *, redact: bool
) -> list[Block]:
    """The blocks with a mark that stand on some pages, to be put in the place of those without."""
    there = {number for page in pages if page < len(transcript.pages) for number in range(*transcript.pages[page])}
    marked = {number for where in marks if (number := transcript.block_with(where)) is not None}
    return list(transcript.blocks(sorted(there & marked), marks, redact=redact))
