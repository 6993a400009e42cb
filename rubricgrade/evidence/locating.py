"""Finding a quote in what was shown: word for word, then folded, then almost; never by trusting who quoted it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from rubricgrade.evidence.folding import compatible, dense, fold, original_span
from rubricgrade.evidence.likeness import Words
from rubricgrade.evidence.places import WORLD, Place
from rubricgrade.evidence.visible import visible
from rubricgrade.evidence.wholeness import WIDE, cuts
from rubricgrade.result import Evidence

# Around each piece; no quote holds them, as it is made visible first, and no folded text does.
_END = "\0"
_CUT = "\u115f"
"""Stands where a piece was cut out of a word; a letter to Python, so that half a word is none."""

_MARGIN = re.compile(r"^[ \t]*\| ?", re.MULTILINE)
_ENDS = " \t\n\"'`….\u2018\u2019\u201c\u201d"
_REST = f"[{re.escape(_ENDS.replace(chr(10), chr(13)))}]*+"
"""What may stand on a line besides a quote of all of it."""

_STEP = re.compile(r"(?:step\s*)?\[?\s*(\d{1,9})\s*\]?(?P<part>\.\w+)?\Z", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_WIDE = re.compile(f"[{chr(WIDE)}-\U0010ffff]")
_TRIES = 10_000  # places where a text stands but cuts a word; hostile text can have very many
_TRIED = 100_000  # characters of a text, each time counted anew that it is tried; only a short one stands in many words
_PROVING_LETTERS, _PROVING_WORDS = 8, 2


class _Piece(NamedTuple):
    place: Place
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.place.text[self.start : self.end]


_Span = tuple[_Piece, int, int]


@dataclass(frozen=True, slots=True)
class _Joined:
    """All pieces as one text, and where each begins and ends in it."""

    text: str
    begins: list[int]
    ends: list[int]

    @classmethod
    def of(cls, pieces: Sequence[_Piece], texts: Iterable[str]) -> _Joined:
        """Join the texts of some pieces, each between two marks."""
        parts: list[str] = []
        begins: list[int] = []
        ends: list[int] = []
        at = 0
        for piece, text in zip(pieces, texts, strict=True):
            parts += (_edge(piece.place.text, piece.start), text, _edge(piece.place.text, piece.end))
            begins.append(at + 1)
            ends.append(at + 1 + len(text))
            at += len(text) + 2
        return cls("".join(parts), begins, ends)

    def bounds(self, index: int) -> tuple[int, int]:
        """Start and end of a piece."""
        return self.begins[index], self.ends[index]

    def find(self, wanted: str, hinted: list[int]) -> tuple[int, int] | None:
        """The piece that holds the wanted text, and where in it; the hinted ones are looked at first."""
        for start, end in (*map(self.bounds, hinted), (0, len(self.text))):
            at = _find(self.text, wanted, start, end)
            if at is not None:
                return self.piece_at(at)
        return None

    def piece_at(self, at: int) -> tuple[int, int]:
        """The piece that a position of the whole text is in, and where in it."""
        index = bisect_right(self.begins, at) - 1
        return index, at - self.begins[index]


class Sources:
    """The texts that a judge was shown, ready to be searched. What was hidden or cut is not in it."""

    def __init__(self, places: Iterable[Place]) -> None:
        self.places = tuple(places)
        self._pieces = [_Piece(place, *ends) for place in self.places for ends in place.pieces]

    @cached_property
    def _plain(self) -> _Joined:
        return _Joined.of(self._pieces, (piece.text for piece in self._pieces))

    @cached_property
    def _by_address(self) -> dict[str, list[int]]:
        """Pieces by the address that they have and by the step that they are of."""
        found: dict[str, list[int]] = {}
        for index, piece in enumerate(self._pieces):
            where = piece.place.where.casefold()
            for address in dict.fromkeys((where, where.partition("].")[0])):
                found.setdefault(address, []).append(index)
        return found

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        """Pieces by their address and by what a heading calls them."""
        found: dict[str, list[int]] = {}
        for index, piece in enumerate(self._pieces):
            for name in dict.fromkeys((piece.place.where, piece.place.name)):
                found.setdefault(name, []).append(index)
        return found

    @cached_property
    def _folded(self) -> _Joined:
        """Made when a quote does not stand there word for word."""
        return _Joined.of(self._pieces, (fold(piece.text) for piece in self._pieces))

    @cached_property
    def _dense(self) -> str:
        """Made when it is asked whether a text stands there in any layout."""
        return dense(self._plain.text)

    @cached_property
    def _words(self) -> Words:
        """Made when a quote does not stand there folded either."""
        return Words.of(self._folded.text)

    def holds(self, text: str) -> bool:
        """Whether the text stands in any place, folded and however it is laid out."""
        wanted = dense(text)
        return bool(wanted) and wanted in self._dense

    def whole(self, evidence: Evidence) -> bool:
        """Whether a quote is found word for word, stands somewhere as whole lines, and has a word that can be seen.

        Nothing was then left out before it or behind. It may stand elsewhere, too, as a part of something longer.

        Args:
            evidence: From `locate`, with the same sources.
        """
        if evidence.verified != "verified" or evidence.span is None or evidence.where is None:
            return False
        start, end = evidence.span
        named = (each for each in self.places if evidence.where.startswith(each.where))
        place = next((each for each in named if _address(each, start) == evidence.where), None)
        text = "" if place is None else place.text[start:end]
        seen = "".join(each for each in text if visible(each) == each)
        if not _WORD.search(compatible(seen)):
            return False
        line = re.compile(f"^{_REST}{re.escape(text.strip(_ENDS))}{_REST}$", re.MULTILINE)
        return any(_is_line(line, piece) for piece in self._pieces)

    def find(self, given: str, hint: str | None) -> Evidence | None:
        """The quote's place, or None. The hint says where to look first; it need not be right."""
        hinted = self._hinted(hint)
        quote = visible(given)
        for one in _readings(quote):
            found = self._exact(one, hinted) or self._alike(one, hinted)
            if found is not None:
                return _evidence(given, *found, almost=False)
        found = self._almost(quote, hinted)
        return None if found is None else _evidence(given, *found, almost=True)

    def _exact(self, quote: str, hinted: list[int]) -> _Span | None:
        found = self._plain.find(quote, hinted)
        if found is None:
            return None
        piece, start = self._pieces[found[0]], self._pieces[found[0]].start + found[1]
        return piece, start, start + len(quote)

    def _alike(self, quote: str, hinted: list[int]) -> _Span | None:
        wanted = fold(quote).strip()
        found = self._folded.find(wanted, hinted) if wanted else None
        return None if found is None else self._unfolded(*found, len(wanted))

    def _almost(self, quote: str, hinted: list[int]) -> _Span | None:
        wanted = fold(_MARGIN.sub("", quote))
        parts = (*map(self._folded.bounds, hinted), (0, len(self._folded.text)))
        found = self._words.find(wanted, parts)
        return None if found is None else self._unfolded(*self._folded.piece_at(found[0]), found[1] - found[0])

    def _unfolded(self, index: int, offset: int, length: int) -> _Span:
        piece = self._pieces[index]
        start, end = original_span(piece.text, offset, offset + length)
        return piece, piece.start + start, piece.start + end

    def _hinted(self, hint: str | None) -> list[int]:
        if not hint:
            return []
        step = _STEP.match(hint.strip())
        if step:
            number, part = int(step.group(1)), step.group("part")
            return self._by_address.get(f"[{number}]{part}".casefold() if part else f"[{number}", [])
        path = hint.strip().strip("[]")
        file = path.rpartition(":")[0] or path
        # Judges and people also name a file of the world by its path alone.
        names = {path, file, WORLD + path, WORLD + file, path.partition(".")[0], path.partition("]")[0]}
        return sorted({index for name in names & self._by_name.keys() for index in self._by_name[name]})


def locate(quote: str, sources: Sources, hint: str | None = None) -> Evidence:
    """Look a quote up.

    Word for word counts as ``verified``, also when case, white space, quotation marks, dashes or Unicode forms differ;
    so does a quote of several lines, with or without the margin that the prompt puts before each. ``near`` is at least
    95 % alike, with the same words in the same order, the same numbers, comparisons, currencies and signs: other marks,
    and the endings of longer words, may differ. All else is ``not_found``, and so is what begins or ends inside a word.

    Args:
        quote: As the judge gave it.
        sources: What the judge was shown.
        hint: Where the judge says it stands; looked at first.

    Returns:
        The evidence, with the address and the span in the original text (not the folded one) where it was found.
    """
    found = sources.find(quote, hint)
    return found or Evidence(quote=quote, verified="not_found")


def proves(evidence: Evidence, *, strict: bool = False) -> bool:
    """Whether located evidence can carry a verdict.

    It must have been found, and say something: at least two words and eight letters or digits (a character of a script
    without word spaces counts as a word and as three letters). One word, such as "done", is found in any text.

    Args:
        evidence: From `locate`.
        strict: Whether ``near`` is not enough.
    """
    if evidence.verified not in (("verified",) if strict else ("verified", "near")):
        return False
    # Bold and full-width letters are found as plain ones, and say no more than these.
    words = _WORD.findall(compatible(evidence.quote))
    letters = "".join(words)
    wide = len(_WIDE.findall(letters))
    return len(letters) + 2 * wide >= _PROVING_LETTERS and max(len(words), wide) >= _PROVING_WORDS


def _edge(text: str, at: int) -> str:
    """What stands before or behind a piece that begins or ends there."""
    return _CUT if cuts(text, at) else _END


def _find(text: str, wanted: str, start: int, end: int) -> int | None:
    """The first place where the wanted text stands without cutting a word or a number: "approved" in "unapproved"."""
    at = start - 1
    for _ in range(min(_TRIES, _TRIED // len(wanted) + 1)):
        at = text.find(wanted, at + 1, end)
        if at < 0:
            return None
        if not cuts(text, at) and not cuts(text, at + len(wanted)):
            return at
    return None


def _is_line(line: re.Pattern[str], piece: _Piece) -> bool:
    """Whether a whole line is found in a piece; where that was cut out of a line, its edge is no end of one."""
    text = piece.place.text
    found = line.search(text, piece.start, piece.end)
    return found is not None and (found.end() == len(text) or text[found.end()] == "\n")


def _readings(quote: str) -> Iterator[str]:
    """The quote as it is, without quotation marks or dots around it, and without one or two margins on each line."""
    if not quote.strip():
        return
    yield quote
    bare = _MARGIN.sub("", quote)
    others = dict.fromkeys((quote.strip(_ENDS), bare, bare.strip(_ENDS), _MARGIN.sub("", bare)))
    yield from (reading for reading in others if reading.strip() and reading != quote)


def _evidence(quote: str, piece: _Piece, start: int, end: int, *, almost: bool) -> Evidence:
    where = _address(piece.place, start)
    return Evidence(quote=quote, where=where, span=(start, end), verified="near" if almost else "verified")


def _address(place: Place, start: int) -> str:
    """Where a quote stands; in a file with its line."""
    if place.section not in ("artifacts", "world"):
        return place.where
    return f"{place.where}:{place.text.count(chr(10), 0, start) + 1}"
