"""The last resort for a long record: a judge reads all of it in pieces and copies out what bears on the question.

The question is then asked over those passages, each looked up by code and shown with what stands around it. As every
piece was read, what no passage shows counts as not there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from rubricgrade.evidence import Place, locate, proves
from rubricgrade.judge import wording
from rubricgrade.judge.need import Need
from rubricgrade.judge.record import Record
from rubricgrade.judge.retrieving import needed
from rubricgrade.judge.view import View, render

MOST_PIECES = 32
"""Pieces of one record, unless the author says how much of it is to be read; one of more pieces is not read."""

MOST_PASSAGES = 12
"""Passages of one piece."""

_AROUND = 400  # characters that are shown before and behind a passage
_OVERLAP = 1000  # characters that pieces of one part have in common, so that a passage stands whole in one of them
_LINE = re.compile(r":\d+\Z")

Spans = dict[str, list[tuple[int, int]]]


async def map_pieces(need: Need) -> View | None:
    """The passages of a record that bear on a question.

    Returns:
        The view; None if nobody can be asked, the record is too long also for this, a piece could not be read, or too
        much was found.

    Raises:
        JudgeError: The judge could not be asked.
    """
    record = need.record
    pieces = pieces_to_read(record, need.room)
    if need.aside is None or not pieces:
        return None
    asked = need.question.asked
    spans: Spans = {}
    for number, piece in enumerate(pieces, 1):
        view = render(record, piece, "mapped", cut=True)
        text = wording.COLLECT.format(number=number, count=len(pieces), most=MOST_PASSAGES, criterion=asked)
        said = await need.aside.object(view, text, wording.COLLECT_SCHEMA, "passages")
        if said is None:
            return None
        for name, span in _passages(said, view):
            spans.setdefault(name, []).append(span)
    about = f"the judge read all of it in {len(pieces)} pieces; shown is what it found to bear on the criterion"
    for around in (_AROUND, 0):
        places = _shown(record, spans, around, need.room)
        if sum(record.sizes[place.name] - place.missing for place in places) <= need.room:
            return render(record, places, "mapped", cut=False, about=(about,))
    return None


def pieces_to_read(record: Record, room: int) -> list[tuple[Place, ...]]:
    """The pieces in which all of a record is read; none if it is too long for that."""
    if record.overlong:
        return []
    pieces = list(pieces_of(record, room))
    return pieces if record.sight.read_at_most or len(pieces) <= MOST_PIECES else []


def pieces_of(record: Record, room: int) -> Iterator[tuple[Place, ...]]:
    """All parts in order, as many at once as fit; one that does not fit alone is taken apart."""
    piece: list[Place] = []
    size = 0
    for place in record.places:
        for part in _parts(place, record.sizes[place.name], room):
            taken = record.sizes[part.name] - part.missing
            if piece and size + taken > room:
                yield tuple(piece)
                piece, size = [], 0
            piece.append(part)
            size += taken
    if piece:
        yield tuple(piece)


def _parts(place: Place, size: int, room: int) -> Iterator[Place]:
    if size <= room:
        yield place
        return
    length = len(place.text)
    # The text grows where it is made visible.
    step = max(_OVERLAP, int(length * room / size) - 2 * _OVERLAP)
    for start in range(0, length, step):
        end = min(start + step + _OVERLAP, length)
        hidden = ((0, start), (end, length))
        yield replace(place, hidden=tuple(span for span in hidden if span[0] < span[1]))


def _passages(said: Mapping[str, Any], view: View) -> Iterator[tuple[str, tuple[int, int]]]:
    """The part and the span of every passage that stands in the piece."""
    given = said["passages"]
    entries = cast("list[Any]", given)[:MOST_PASSAGES] if isinstance(given, list) else []
    names = {place.where: place.name for place in view.sources.places}
    for entry in entries:
        fields = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
        quote, where = fields.get("quote"), fields.get("where")
        if not isinstance(quote, str):
            continue
        found = locate(quote, view.sources, where if isinstance(where, str) else None)
        if proves(found) and found.where is not None and found.span is not None:
            yield names[_LINE.sub("", found.where)], found.span


def _shown(record: Record, spans: Spans, around: int, room: int) -> list[Place]:
    """The parts with a passage, and those without which none makes sense, short ones whole."""
    whole = {name for name in needed(record) if name not in spans}
    places: list[Place] = []
    for place in record.places:
        if place.name in whole and record.sizes[place.name] <= room // 4:
            places.append(place)
        elif place.name in spans:
            places.append(replace(place, hidden=tuple(_between(spans[place.name], around, len(place.text)))))
    return places


def _between(spans: list[tuple[int, int]], around: int, length: int) -> Iterator[tuple[int, int]]:
    """What is left of a text around some spans."""
    done = 0
    for start, end in sorted(spans):
        if start - around > done:
            yield done, start - around
        done = max(done, min(end + around, length))
    if done < length:
        yield done, length
