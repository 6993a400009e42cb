r"""Text made comparable: case, white space, quotation marks and Unicode forms folded, invisible characters spelled out.

Folding goes character by character before white space is joined, so that a place in the folded text can be mapped back
to the original. Backslash escapes count as what they stand for: judges copy ``\n`` and ``\"`` out of JSON.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from itertools import accumulate

from rubricgrade.evidence.visible import visible

_QUOTES = "'\"`´«»‘’‚‛“”„‟‹›′″〝〞＂＇"  # noqa: RUF001 - look-alikes are what this is about
_DASHES = "‐‑‒–—―−﹘﹣－"  # noqa: RUF001 - look-alikes are what this is about
_JOINED = re.compile(r"(?:\s|\\[nrt])+|\\([\"\\/])")
_REMEMBERED = 20_000
_PIECE = 1000  # characters


class _Folded(dict[int, str]):
    """What each character folds to; worked out on first use, and bounded, as the text is not ours."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character in _QUOTES:
            folded = '"'
        elif character in _DASHES:
            folded = "-"
        elif character == "\r" or (character.isspace() and visible(character) == character):
            folded = " "
        elif _is_another_number(character):
            folded = character
        else:
            folded = unicodedata.normalize("NFKD", visible(character)).casefold()
        if len(self) < _REMEMBERED:
            self[code] = folded
        return folded


_TABLE = _Folded()


def fold(text: str) -> str:
    """The text made comparable. Holds no newline and no NUL."""
    return _JOINED.sub(_join, text.translate(_TABLE))


def dense(text: str) -> str:
    """The text folded, without white space and backslashes: JSON is the same however it is laid out or escaped."""
    return fold(text).replace(" ", "").replace("\\", "")


def compatible(text: str) -> str:
    """The text in Unicode form NFKC, piece by piece: a long run of combining marks takes quadratic time as a whole."""
    pieces = (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))
    return "".join(unicodedata.normalize("NFKC", piece) for piece in pieces)


def original_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Where ``fold(text)[start:end]`` stands in `text`; start < end."""
    translated = text.translate(_TABLE)
    joined: list[int] = []  # start of each folded character in the translated text, then its length
    done = 0
    for match in _JOINED.finditer(translated):
        joined.extend(range(done, match.start() + 1))
        done = match.end()
    joined.extend(range(done, len(translated) + 1))
    starts = list(accumulate((len(_TABLE[ord(character)]) for character in text), initial=0))
    return bisect_right(starts, joined[start]) - 1, bisect_left(starts, joined[end])


def _is_another_number(character: str) -> bool:
    """Whether it would fold to plain digits that do not mean the same beside others: 10² is not 102."""
    return not character.isdecimal() and any(map(str.isdecimal, unicodedata.normalize("NFKD", character)))


def _join(match: re.Match[str]) -> str:
    return match.group(1) or " "
