"""The last resort for a long record: a judge reads all of it in pieces and copies out what bears on the question.

The question is then asked over those passages, each looked up by code and shown with what stands around it. As every
piece was read, what no passage shows counts as not there. So nothing that was copied out may get lost on the way: a
piece of which more may have to be shown than the passages that were found is read again in halves, and then shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Literal, cast

from rubricgrade.evidence import Place, locate
from rubricgrade.judge import wording
from rubricgrade.judge.aside import Aside
from rubricgrade.judge.need import Need
from rubricgrade.judge.objects import folded
from rubricgrade.judge.record import ORDINARY, Record, margined
from rubricgrade.judge.retrieving import needed
from rubricgrade.judge.view import View, render

MOST_PIECES = 32
"""Pieces of one record that is longer than `ORDINARY`, unless the author says how much of it is to be read; one of more
pieces is not read."""

MOST_PASSAGES = 12
"""Passages of one piece."""

MOST_HALVED = 16
"""Pieces of one record that are read again in halves."""

_AROUND = 400  # characters that are shown before and behind a passage
_OVERLAP = 1000  # characters that pieces of one part have in common, so that a passage stands whole in one of them
_SHORTEST = 4 * _OVERLAP  # characters of a piece that can be halved
_CUT_LINE = 100  # characters of a line that says that something was cut, at most
_ALIKE = 50  # places of a passage that are all shown; which of them the reader meant can't be known
_NOWHERE = frozenset({"", "n/a", "na", "none", "nowhere", "null"})
_LINE = re.compile(r":\d+\Z")

Piece = tuple[Place, ...]
Span = tuple[str, tuple[int, int]]
"""The name of a part, and start and end within its text."""

Spans = dict[str, list[tuple[int, int]]]
Doubt = Literal["", "full", "misread"]
"""Why a piece may hold more than was found: it has too many passages, or one was given that does not stand there."""


@dataclass(slots=True)
class _Finds:
    """What the pieces gave.

    Attributes:
        spans: Where passages stand.
        doubtful: Pieces of which nobody can say what else had to be shown.
        misread: Whether that is the reader's doing.
    """

    spans: list[Span] = field(default_factory=list[Span])
    doubtful: list[Piece] = field(default_factory=list[Piece])
    misread: bool = False

    @property
    def all(self) -> list[Span]:
        """The passages, and the doubtful pieces whole."""
        whole = [(place.name, span) for piece in self.doubtful for place in piece for span in place.pieces]
        return [*self.spans, *whole]


async def map_pieces(need: Need) -> View | None:
    """The passages of a record that bear on a question.

    Returns:
        The view; it is cut if something that a reader pointed at does not fit. None if nobody can be asked, the record
        is too long also for this, a piece could not be read, or nothing was found that fits.

    Raises:
        JudgeError: The judge could not be asked.
    """
    record = need.record
    pieces = pieces_to_read(record, need.room)
    if need.aside is None or not pieces:
        return None
    finds = await _read(need, need.aside, pieces)
    if finds is None:
        return None
    about = f"the judge read all of it in {len(pieces)} pieces; shown is what it found to bear on the criterion"
    places = _fitting(record, finds.all, need.room)
    if places is not None:
        return render(record, places, "mapped", cut=False, about=(about,))
    some = finds.spans
    while some:
        places = _fitting(record, some, need.room)
        if places is not None:
            view = render(record, places, "mapped", cut=True, about=(f"{about}, as much as fits",))
            # Who floods a long record with what bears on the criterion keeps it from being read.
            flooded = record.by_agent > ORDINARY and not finds.misread
            return replace(view, beyond=_much(record, "in which too much bears on the criterion") if flooded else "")
        some = some[: len(some) // 2]
    return None


async def _read(need: Need, aside: Aside, pieces: Sequence[Piece]) -> _Finds | None:
    """Read all pieces, doubtful ones again in halves. None if one could not be read."""
    finds = _Finds()
    todo = list(reversed(pieces))
    done = halved = 0
    while todo:
        piece = todo.pop()
        done += 1
        view = render(need.record, piece, "mapped", cut=True)
        text = wording.COLLECT.format(
            number=done, count=done + len(todo), most=MOST_PASSAGES, criterion=need.question.asked
        )
        said = await aside.object(view, text, wording.COLLECT_SCHEMA, "passages", entire=True)
        if said is None:
            return None
        spans, doubt = _passages(said, view)
        finds.spans += spans
        if not doubt:
            continue
        halves = _halves(piece) if halved < MOST_HALVED else ()
        if halves:
            halved += 1
            todo += reversed(halves)
        else:
            finds.doubtful.append(piece)
            finds.misread |= doubt == "misread"
    return finds


def beyond(record: Record, room: int) -> str:
    """Why a record can't be read to its end in a room, if that is the agent's doing; else empty.

    It is if the agent has left more than `ORDINARY` characters, and these alone are more pieces than are read. That a
    judge can't take what is no longer than that is never the agent's doing.
    """
    if record.overlong or record.by_agent <= ORDINARY or pieces_to_read(record, room):
        return record.overlong
    if len(list(islice(pieces_of(record, room, record.work), MOST_PIECES + 1))) <= MOST_PIECES:
        return ""
    return _much(record, f"more than the {ORDINARY:,} that are always read and than fit into {MOST_PIECES} pieces")


def _much(record: Record, why: str) -> str:
    return f"{record.by_agent:,} characters of the agent's work, {why}"


def pieces_to_read(record: Record, room: int) -> list[Piece]:
    """The pieces in which all of a record is read; none if it is too long for that."""
    if record.overlong:
        return []
    if room not in record.pieces:
        all_of_it = sum(record.sizes.values()) <= ORDINARY or record.sight.read_at_most is not None
        pieces = list(islice(pieces_of(record, room), None if all_of_it else MOST_PIECES + 1))
        record.pieces[room] = pieces if all_of_it or len(pieces) <= MOST_PIECES else []
    return record.pieces[room]


def pieces_of(record: Record, room: int, places: Sequence[Place] | None = None) -> Iterator[Piece]:
    """All parts in order, or the given ones, as many at once as fit; one that does not fit alone is taken apart."""
    piece: list[Place] = []
    size = 0
    for place in record.places if places is None else places:
        for part in _parts(record, place, room):
            taken = _size(record, part)
            if piece and size + taken > room:
                yield tuple(piece)
                piece, size = [], 0
            piece.append(part)
            size += taken
    if piece:
        yield tuple(piece)


def _size(record: Record, place: Place) -> int:
    """Characters that a part takes in a prompt: of what is cut no bars and no escapes, but a line that says so."""
    if not place.hidden:
        return record.sizes[place.name]
    shown = sum(len(margined(place.text[start:end])) for start, end in place.pieces)
    return len(place.name) + shown + _CUT_LINE * len(place.hidden)


def _parts(record: Record, place: Place, room: int) -> Iterator[Place]:
    size = record.sizes[place.name]
    if size <= room:
        yield place
        return
    length = len(place.text)
    # The text grows where it is made visible.
    step = max(_OVERLAP, int(length * room / size) - 2 * _OVERLAP)
    for start in range(0, length, step):
        end = min(start + step + _OVERLAP, length)
        yield from _small_enough(record, _only(place, start, end), room)


def _small_enough(record: Record, part: Place, room: int) -> Iterator[Place]:
    """A part, in halves if there is more in it to be made visible than elsewhere in the text."""
    ((start, end),) = part.pieces
    if end - start <= _CUT_LINE or _size(record, part) <= room:
        yield part
    else:
        for half in _halved(part):
            yield from _small_enough(record, half, room)


def _halves(piece: Piece) -> tuple[Piece, ...]:
    """Two pieces that hold all of one; none if it is short already."""
    if len(piece) != 1:
        middle = len(piece) // 2
        return piece[:middle], piece[middle:]
    place = piece[0]
    if len(place.text) - place.missing <= _SHORTEST:
        return ()
    one, other = _halved(place)
    return (one,), (other,)


def _halved(part: Place) -> tuple[Place, Place]:
    """The halves of what is shown of a part, with what they have in common."""
    start, end = part.pieces[0]
    middle, common = (start + end) // 2, min(_OVERLAP // 2, (end - start) // 8)
    return _only(part, start, middle + common), _only(part, middle - common, end)


def _only(place: Place, start: int, end: int) -> Place:
    """A part of which no more is shown."""
    length = len(place.text)
    return place._replace(hidden=tuple(span for span in ((0, start), (end, length)) if span[0] < span[1]))


def _passages(said: Mapping[str, Any], view: View) -> tuple[list[Span], Doubt]:
    """Where the passages stand in the piece, however short, and why there may be more."""
    given = said["passages"]
    if not isinstance(given, list):
        return [], "misread"
    entries = cast("list[Any]", given)
    doubt: Doubt = "full" if len(entries) >= MOST_PASSAGES else ""
    places = {place.where: place for place in view.sources.places}
    spans: list[Span] = []
    for entry in entries[:MOST_PASSAGES]:
        fields = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
        quote, where = fields.get("quote"), fields.get("where")
        if not isinstance(quote, str):
            doubt = "misread"
            continue
        if any(value for key, value in fields.items() if key not in ("where", "quote")):
            doubt = "misread"
        if not quote.strip():
            # Forms get filled in with blank ones, but who names a place has seen something there.
            if where and folded(where).strip("-_.[]") not in _NOWHERE:
                doubt = "misread"
            continue
        # Also what begins inside a word, as a piece may, stands there.
        alike = list(islice(_alike(quote.strip(), view), _ALIKE + 1))
        if not alike:
            found = locate(quote, view.sources, where if isinstance(where, str) else None)
            if found.where is None or found.span is None:
                doubt = "misread"
                continue
            place = places[_LINE.sub("", found.where)]
            alike = list(islice(_alike(place.text[slice(*found.span)], view), _ALIKE + 1))
        spans += alike[:_ALIKE]
        if len(alike) > _ALIKE and not doubt:
            doubt = "full"
    return spans, doubt


def _alike(text: str, view: View) -> Iterator[Span]:
    """Everywhere that a passage stands in the piece: the first place may be the harmless one."""
    for place in view.sources.places:
        for start, end in place.pieces:
            at = place.text.find(text, start, end)
            while at >= 0:
                yield place.name, (at, at + len(text))
                at = place.text.find(text, at + len(text), end)


def _fitting(record: Record, found: Sequence[Span], room: int) -> list[Place] | None:
    """The parts with what was found, and as much around it as fits; None if it does not fit even bare."""
    spans: Spans = {}
    for name, span in found:
        spans.setdefault(name, []).append(span)
    for around in (_AROUND, 0):
        places = _shown(record, spans, around, room)
        if sum(_size(record, place) for place in places) <= room:
            return places
    return None


def _shown(record: Record, spans: Spans, around: int, room: int) -> list[Place]:
    """The parts with a passage, and those without which none makes sense, short ones whole."""
    whole = {name for name in needed(record) if name not in spans}
    places: list[Place] = []
    for place in record.places:
        if place.name in whole and record.sizes[place.name] <= room // 4:
            places.append(place)
        elif place.name in spans:
            places.append(place._replace(hidden=tuple(_between(spans[place.name], around, len(place.text)))))
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
