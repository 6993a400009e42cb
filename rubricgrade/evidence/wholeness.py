"""Where a text may be cut: between words and numbers, never inside one.

"approved" is no quote of "unapproved" or "not_approved", "he can" none of "he can't", 5 none of 0.5 or -5.
"""

from __future__ import annotations

import unicodedata

WIDE = 0x2E80
"""From here on (Chinese, Japanese, Korean and others) words have no spaces between them, and any place will do."""

_JOINERS = frozenset("-\u2010\u2011_'\u2019\"")
"""Between two letters or digits they make one word of them: "non-approved", "not_approved", "didn't". Folding makes of
hyphens and apostrophes what stands here, too."""

_MINUS = frozenset("-\u2212")


def cuts(text: str, at: int) -> bool:
    """Whether a word or a number goes on across a position of a text."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if before.isalnum() and after.isalnum():
        return max(before, after) < chr(WIDE)
    if unicodedata.combining(after):
        return not before.isspace()
    return _joins(text, at) or _joins(text, at - 1) or _is_sign(text, at - 1)


def _joins(text: str, middle: int) -> bool:
    """Whether the character there makes one of what stands on both sides of it."""
    if not 0 < middle < len(text) - 1:
        return False
    before, joint, after = text[middle - 1 : middle + 2]
    if joint in ".,":
        return before.isdigit() and after.isdigit()
    return joint in _JOINERS and before.isalnum() and after.isalnum() and max(before, after) < chr(WIDE)


def _is_sign(text: str, at: int) -> bool:
    """Whether the character there is the minus of the number that follows."""
    return text[at] in _MINUS and text[at + 1].isdigit() and not (at and text[at - 1].isalnum())
