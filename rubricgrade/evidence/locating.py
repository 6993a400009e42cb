"""Finding a quote in what was shown: word for word, then folded, then almost; never by trusting who quoted it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from rapidfuzz import fuzz

from rubricgrade.evidence.folding import fold, original_span
from rubricgrade.evidence.places import WORLD, Place
from rubricgrade.result import Evidence

NEAR = 95.0
"""How alike (0 to 100, by edits) an almost equal quote must be, folded."""

_ROUGHLY = 85.0  # how alike a piece of the wanted length must be to be looked at closer

_NEAR_LENGTHS = range(20, 1001)
"""Folded lengths that are looked for almost: shorter ones are like too much, longer ones take too long."""

_BETWEEN = "\0"  # Between pieces; no quote holds it, as it is made visible first, and no folded text.
_MARGIN = re.compile(r"^[ \t]*\| ?", re.MULTILINE)
_ENDS = " \t\n\"'`….\u2018\u2019\u201c\u201d"
_NUMBERS = re.compile(r"\d+")
_STEP = re.compile(r"(?:step\s*)?\[?\s*(\d{1,9})\s*\]?(?P<part>\.\w+)?\Z", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_WIDE = 0x2E80  # From here on (Chinese, Japanese, Korean and others) a character says about as much as a short word.
_BEGINNING = 3  # letters of a word by which it is known
_TRIES = 10_000  # places where a text stands but cuts a word; hostile text can have very many
_PROVING_LETTERS, _PROVING_WORDS = 8, 2


@dataclass(frozen=True, slots=True)
class _Piece:
    place: Place
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.place.text[self.start : self.end]


_Span = tuple[_Piece, int, int]


@dataclass(frozen=True, slots=True)
class _Joined:
    """All pieces as one text, and where each begins in it."""

    text: str
    begins: list[int]

    @classmethod
    def of(cls, texts: Iterable[str]) -> _Joined:
        texts = list(texts)
        begins = list(accumulate((len(text) + len(_BETWEEN) for text in texts), initial=0))
        return cls(_BETWEEN.join(texts), begins)

    def bounds(self, index: int) -> tuple[int, int]:
        return self.begins[index], self.begins[index + 1] - len(_BETWEEN)

    def find(self, wanted: str, hinted: list[int]) -> tuple[int, int] | None:
        """The piece that holds the wanted text, and where in it; the hinted ones are looked at first."""
        for index in hinted:
            at = _find(self.text, wanted, *self.bounds(index))
            if at is not None:
                return index, at - self.begins[index]
        at = _find(self.text, wanted, 0, len(self.text))
        if at is None:
            return None
        index = bisect_right(self.begins, at) - 1
        return index, at - self.begins[index]


class Sources:
    """The texts that a judge was shown, ready to be searched. What was hidden or cut is not in it."""

    def __init__(self, places: Iterable[Place]) -> None:
        self.places = tuple(places)
        self._pieces = [_Piece(place, *ends) for place in self.places for ends in place.pieces]

    @cached_property
    def _plain(self) -> _Joined:
        return _Joined.of(piece.text for piece in self._pieces)

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
        return _Joined.of(fold(piece.text) for piece in self._pieces)

    def holds(self, text: str) -> bool:
        """Whether the text, folded, stands in any place."""
        wanted = fold(text).strip()
        return bool(wanted) and wanted in self._folded.text

    def find(self, quote: str, hint: str | None) -> Evidence | None:
        """The quote's place, or None. The hint says where to look first; it need not be right."""
        hinted = self._hinted(hint)
        for one in _readings(quote):
            found = self._exact(one, hinted) or self._alike(one, hinted)
            if found is not None:
                return _evidence(quote, *found, almost=False)
        found = self._almost(quote, hinted)
        return None if found is None else _evidence(quote, *found, almost=True)

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
        wanted = fold(_MARGIN.sub("", quote)).strip(_ENDS)
        if len(wanted) not in _NEAR_LENGTHS:
            return None
        for index in self._order(hinted):
            text = self._folded.text[slice(*self._folded.bounds(index))]
            if len(text) < len(wanted) * NEAR / 100:
                continue
            span = _best_span(wanted, text)
            if span is not None and _same_words(wanted, text[slice(*span)]):
                return self._unfolded(index, span[0], span[1] - span[0])
        return None

    def _unfolded(self, index: int, offset: int, length: int) -> _Span:
        piece = self._pieces[index]
        start, end = original_span(piece.text, offset, offset + length)
        return piece, piece.start + start, piece.start + end

    def _order(self, hinted: list[int]) -> Iterator[int]:
        yield from hinted
        first = set(hinted)
        yield from (index for index in range(len(self._pieces)) if index not in first)

    def _hinted(self, hint: str | None) -> list[int]:
        if not hint:
            return []
        step = _STEP.match(hint.strip())
        if step:
            number, part = int(step.group(1)), step.group("part")
            return self._by_address.get(f"[{number}]{part}".casefold() if part else f"[{number}", [])
        path = hint.strip().strip("[]")
        # Judges and people also name a file of the world by its path alone.
        names = {path, path.rpartition(":")[0] or path}
        names |= {*(f"{WORLD}{name}" for name in names), path.partition(".")[0], path.partition("]")[0]}
        return sorted({index for name in names for index in self._by_name.get(name, ())})


def locate(quote: str, sources: Sources, hint: str | None = None) -> Evidence:
    """Look a quote up.

    Word for word counts as ``verified``, also when case, white space, quotation marks, dashes or Unicode forms differ;
    so does a quote of several lines, with or without the margin that the prompt puts before each. ``near`` is at least
    95 % alike, with the same words in the same order (known by their first letters) and the same numbers: marks and
    endings may differ. All else is ``not_found``.

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
    words = _WORD.findall(evidence.quote)
    wide = 0 if evidence.quote.isascii() else sum(ord(character) >= _WIDE for word in words for character in word)
    letters = sum(map(len, words)) + 2 * wide
    return letters >= _PROVING_LETTERS and max(len(words), wide) >= _PROVING_WORDS


def _best_span(wanted: str, text: str) -> tuple[int, int] | None:
    """The whole words that are most like the wanted text, if they are like enough."""
    window = fuzz.partial_ratio_alignment(wanted, text, score_cutoff=_ROUGHLY)
    if window is None:
        return None
    # The window is as long as the wanted text; the best span may be somewhat longer or shorter, at either end.
    slack = len(wanted) // 10 + 1
    start, end = window.dest_start, window.dest_end
    start = max(_whole(text, start, slack), key=lambda at: fuzz.ratio(wanted, text[at:end]), default=start)
    end = max(_whole(text, end, slack), key=lambda at: fuzz.ratio(wanted, text[start:at]), default=end)
    alike = fuzz.ratio(wanted, text[start:end]) >= NEAR
    return (start, end) if alike and not _cuts(text, start) and not _cuts(text, end) else None


def _whole(text: str, at: int, slack: int) -> list[int]:
    """Positions near another that cut no word."""
    near = range(max(at - slack, 0), min(at + slack, len(text)) + 1)
    return [position for position in near if not _cuts(text, position)]


def _find(text: str, wanted: str, start: int, end: int) -> int | None:
    """The first place where the wanted text stands without cutting a word or a number: "approved" in "unapproved"."""
    at = start - 1
    for _ in range(_TRIES):
        at = text.find(wanted, at + 1, end)
        if at < 0:
            return None
        if not _cuts(text, at) and not _cuts(text, at + len(wanted)):
            return at
    return None


def _cuts(text: str, at: int) -> bool:
    """Whether a word or a number goes on across a position."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if before.isalnum() and after.isalnum():
        return max(before, after) < chr(_WIDE)
    if before.isdigit() and after in ".,":
        return text[at + 1 : at + 2].isdigit()
    return after.isdigit() and before in ".," and at > 1 and text[at - 2].isdigit()


def _readings(quote: str) -> Iterator[str]:
    """The quote as it is, without quotation marks or dots around it, and without one or two margins on each line."""
    if not quote.strip():
        return
    yield quote
    bare = _MARGIN.sub("", quote)
    others = dict.fromkeys((quote.strip(_ENDS), bare, bare.strip(_ENDS), _MARGIN.sub("", bare)))
    yield from (reading for reading in others if reading.strip() and reading != quote)


def _same_words(one: str, other: str) -> bool:
    """Whether the same words follow each other, by their beginnings, and the same numbers.

    One digit, one "not" or one "un" is little to a measure of likeness, and everything to the meaning.
    """
    if _NUMBERS.findall(one) != _NUMBERS.findall(other):
        return False
    return [word[:_BEGINNING] for word in _WORD.findall(one)] == [word[:_BEGINNING] for word in _WORD.findall(other)]


def _evidence(quote: str, piece: _Piece, start: int, end: int, *, almost: bool) -> Evidence:
    place = piece.place
    lined = place.section in ("artifacts", "world")
    where = f"{place.where}:{place.text.count(chr(10), 0, start) + 1}" if lined else place.where
    return Evidence(quote=quote, where=where, span=(start, end), verified="near" if almost else "verified")
