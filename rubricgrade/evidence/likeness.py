"""Finding a quote that stands in a text almost: the same words in the same order, the same numbers, the same signs.

A measure of likeness alone makes little of a digit, a "not" or a "<" for a ">", which are everything to the meaning.
So places with the same words are looked up first, and likeness is asked of them alone; that is also quick.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, takewhile

from rapidfuzz import fuzz

from rubricgrade.evidence.wholeness import cuts

NEAR = 95.0
"""How alike (0 to 100, by edits) an almost equal quote must be, folded."""

_LENGTHS = range(20, 1001)
"""Folded lengths that are looked for: shorter ones are like too much, and no judge is asked for longer ones."""

# A number with its points, a word, a minus, a comparison, a currency; a NUL is the end of a text.
_TOKEN = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+|(?<![^\W_])-(?=\d)|[<>=%$€£¥≤≥≠]|!(?==)|\0")
_ENDINGS = frozenset({"", "s", "es", "e", "d", "ed", "ing", "ly", "y", "ies", "ied"})
"""What two forms of one word may differ in, behind what they have in common."""

_BEGINNING = 3  # letters of a word by which places are looked up; a shorter word, or one so long, has no other ending
_WORK = 10_000  # words that are compared at places with the same beginnings; hostile text can have very many places


@dataclass(frozen=True, slots=True)
class Words:
    """A folded text by its words.

    Attributes:
        text: The text.
        starts: Where each word begins.
        ends: Where each ends.
        keys: The beginnings of all words, each with a space before and behind it.
        places: Where each stands in `keys`.
    """

    text: str
    starts: list[int]
    ends: list[int]
    keys: str
    places: list[int]

    @classmethod
    def of(cls, text: str) -> Words:
        """Take a text apart."""
        spans = [match.span() for match in _TOKEN.finditer(text)]
        keys = [text[start : min(end, start + _BEGINNING)] for start, end in spans]
        places = list(accumulate((len(key) + 1 for key in keys), initial=0))
        return cls(text, [start for start, _ in spans], [end for _, end in spans], f" {' '.join(keys)} ", places)

    def find(self, quote: str, parts: Iterable[tuple[int, int]]) -> tuple[int, int] | None:
        """The span of words that are almost those of a quote.

        Args:
            quote: Folded; what stands around its words does not matter.
            parts: Start and end of the parts of the text in which to look, in order.

        Returns:
            Start and end in the text; None if there is no such place.
        """
        wanted = Words.of(quote)
        if not wanted.starts or wanted.ends[-1] - wanted.starts[0] not in _LENGTHS:
            return None
        tries = max(_WORK // len(wanted.starts), 1)
        for part in parts:
            for first in self._same_beginnings(wanted, *part):
                if wanted.is_almost(self, first):
                    return self.starts[first], self.ends[first + len(wanted.starts) - 1]
                tries -= 1
                if not tries:
                    return None
        return None

    def is_almost(self, other: Words, first: int) -> bool:
        """Whether this is almost what stands in another text from its word of that number on."""
        count = len(self.starts)
        ours, theirs = self._words(0, count), other._words(first, count)
        if not all(map(_almost_equal, ours, theirs)):
            return False
        start, end = other.starts[first], other.ends[first + count - 1]
        if cuts(other.text, start) or cuts(other.text, end):
            return False
        return fuzz.ratio(self.text[self.starts[0] : self.ends[-1]], other.text[start:end]) >= NEAR

    def _same_beginnings(self, wanted: Words, start: int, end: int) -> Iterator[int]:
        """Numbers of the words from which on all begin as the wanted ones."""
        first, behind = bisect_left(self.starts, start), bisect_left(self.starts, end)
        at, last = self.places[first], self.places[behind] + 1
        while (at := self.keys.find(wanted.keys, at, last)) >= 0:
            yield bisect_left(self.places, at)
            at += 1

    def _words(self, first: int, count: int) -> Iterator[str]:
        return (self.text[self.starts[number] : self.ends[number]] for number in range(first, first + count))


def _almost_equal(one: str, other: str) -> bool:
    """Whether two words are forms of one: "expense" and "expenses", but not "employer" and "employee"."""
    if one == other:
        return True
    shorter, longer = sorted((len(one), len(other)))
    # Lengths first: a word of millions of letters is not looked at for its digits.
    if shorter <= _BEGINNING or 3 * shorter <= 2 * longer or any(map(str.isdigit, one + other)):
        return False
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return 3 * alike > 2 * longer and {one[alike:], other[alike:]} <= _ENDINGS
