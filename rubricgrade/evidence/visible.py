"""Text of others made visible: what a reader would not see, or what would move his cursor, is spelled out."""

from __future__ import annotations

import re

# Controls (tab and newline stay), format and private-use characters, surrogates, line separators, variation selectors,
# tags, and the letters that are drawn as nothing. A test compares this with the Unicode data of the interpreter.
HIDDEN = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    r"\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\uf8ff\ufe00-\ufe0f\ufeff\uffa0"
    r"\ufff0-\ufffb\ufffe\uffff\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff\U000f0000-\U0010ffff"
)
_PLAIN = bytes([9, 10, *range(32, 127)])
_HIDDEN = re.compile(f"[{HIDDEN}]")


def visible(text: str) -> str:
    r"""The text with every invisible or controlling character as ``\u{...}`` (hexadecimal); tab and newline stay.

    ``\r\n`` becomes a newline; a ``\r`` alone, which would let a line overwrite itself, is shown. The result can always
    be encoded as UTF-8.
    """
    # Nearly all text is plain, and seen to be so many times faster than it is searched.
    if text.isascii() and not text.encode().translate(None, _PLAIN):
        return text
    return _HIDDEN.sub(_spelled, text.replace("\r\n", "\n"))


def one_line(text: str, limit: int = 500) -> str:
    r"""The text on one line: as `visible`, newlines and tabs spelled out too, cut at `limit` characters."""
    line = visible(text[: limit + 1]).replace("\n", r"\u{a}").replace("\t", r"\u{9}")
    return line if len(line) <= limit else f"{line[:limit]}…"


def _spelled(match: re.Match[str]) -> str:
    return f"\\u{{{ord(match.group()):x}}}"
