"""What a reply says in words around its object. No word decides anything, but words can take the object back.

Nobody can tell by patterns whether prose does. So it is a matter of place: words before the object are thinking, of
which the object is the outcome, unless they give another answer by name; behind it there are none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from rubricgrade.judge.objects import STATING, UNSEEN, folded

# A fence with its language, tags around what is meant to be the reply, an end of a turn (<|im_end|>, </s>, [/INST]).
_MARKUP = re.compile(
    r"[`~]{3,}(?:json\w{0,2}|javascript|text|plaintext|markdown)?(?!\w)"
    rf"|<(?:{'|'.join(sorted(STATING))})>|</[a-z_][\w-]{{0,40}}>|<\|[a-z_][\w-]{{0,40}}\|>|\[/[a-z_]{{1,40}}\]",
    re.IGNORECASE,
)
_ENDS = r"(?!\w|\.\d)(?=\s*(?:\Z|\n|[^\w\s-]|-\W)|\s+(?:because|since|as|due|given|for|and|but|so)\b)"
"""What follows an answer: "no" is one, the "no" of "no longer" is not."""


def words_in(text: str) -> str:
    """What is left of a text around an object without fences and tags; empty if that says nothing."""
    left = _MARKUP.sub("", text).strip()
    return left if re.search(r"[^\s.!*_~`>-]", left) else ""


def names_another(text: str, given: str, answers: Sequence[str], names: tuple[str, ...]) -> bool:
    """Whether a text gives another answer by name (``Answer: no``, ``{'answer': 'no'}``), or is one.

    Args:
        text: Before an object, without what is marked as thinking.
        given: The object's answer.
        answers: All that are possible.
        names: What an answer is called.
    """
    words = UNSEEN.sub("", words_in(text))
    others = [each for each in answers if folded(each) != folded(given)]
    bare = folded(words.strip(" #\t\r\n.!*_'\"(){}"))
    return any(folded(each) == bare for each in others) or any(
        answers[int((match.lastgroup or "")[1:])] in others for match in _naming(tuple(answers), names).finditer(words)
    )


@lru_cache(maxsize=256)
def _naming(answers: tuple[str, ...], names: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(enumerate(answers), key=lambda each: -len(each[1]))
    named = "|".join(f"(?P<a{number}>{_loose(answer)})" for number, answer in longest_first)
    called = rf"^\W{{0,8}}(?:(?:my|the|final|overall)\W{{1,3}}){{0,3}}(?:{'|'.join(map(re.escape, names))})"
    return re.compile(rf"{called}\W{{0,3}}[:=]\W{{0,8}}(?:{named}){_ENDS}", re.IGNORECASE | re.MULTILINE)


def _loose(answer: str) -> str:
    return r"[\W_]{1,3}".join(re.escape(word) for word in re.split(r"[\s_]+", answer))
