"""The JSON objects that stand in a text at its own level. What stands inside of one is only what that one says."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NoReturn

OBJECT = re.compile(r'\{\s*"')
_MOST_IN_VAIN = 1_000_000
_OF_ONE = 1000
"""Characters that are read of broken objects, and those that each counts besides."""

UNSEEN = re.compile("[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff]")
_SPACE = re.compile(r"[\s\u00a0]+")
# What a draft or a call of a tool begins with, whether or not it ends: <draft>, [TOOL_CALLS], <|tool_call_begin|>
_OPENED = re.compile(
    r"(?:<(?P<name>[a-z_][\w-]{0,40})(?:[\s=:.][^<>\[\]]{0,100})?>|\[TOOL_CALLS?\]|<\|tool_\w{1,40}\|>)\s*\Z",
    re.IGNORECASE,
)
# <draft>...</draft>, [draft]...[/draft], <function=f>...</function>, <!-- ... -->
_MARK = re.compile(
    r"(?P<comment><!--)|(?P<commented>-->)"
    r"|[<\[](?P<end>/)?(?P<name>[a-z_][\w-]{0,40})(?:[\s=:.][^<>\[\]]{0,100})?[>\]]",
    re.IGNORECASE,
)
_LONGEST_TAG = 300
STATING = frozenset(
    {
        "answer", "assessment", "code", "decision", "evaluation", "final", "final_answer", "json", "judgement",
        "judgment", "output", "pre", "reply", "response", "result", "solution", "verdict",
    }
)  # fmt: skip
"""Tags around what is meant to be the reply. What stands in others may be a draft, a quote or a call of a tool."""


class Unreadable(ValueError):
    """A reply states no verdict; the message says why, for the judge and for people."""


@dataclass(frozen=True, slots=True)
class Said:
    """An object in a text.

    Attributes:
        value: The object.
        text: As it stands.
        aside: It stands in a pair of tags that do not say that it is the reply.
        broken_around: It stands inside braces that are no object.
        lost: Only a lone tag says that it was thought and not said.
    """

    value: dict[str, Any]
    text: str
    aside: bool = False
    broken_around: bool = False
    lost: bool = False

    def get(self, key: str) -> list[Any]:
        """What it gives a key, in whatever case: nothing or one value."""
        return [value for name, value in self.value.items() if _name(name) == key]


def said_in(text: str) -> tuple[list[Said], list[str]]:
    """The objects of a text, and what stands before, between and behind them.

    Raises:
        Unreadable: One is broken or cut, or holds a key twice.
    """
    found: list[tuple[dict[str, Any], str]] = []
    gaps: list[str] = []
    end = 0
    while start := OBJECT.search(text, end):
        gaps.append(text[end : start.start()])
        try:
            value, end = DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError) as error:
            if isinstance(error, Unreadable):
                raise
            raise Unreadable("a JSON object in it is broken or cut") from error
        found.append((value, text[start.start() : end]))
    gaps.append(text[end:])
    enclosed = _enclosed(gaps)
    open_braces = accumulate(gap.count("{") - gap.count("}") for gap in gaps[:-1])
    said = [Said(*each, *around) for each, *around in zip(found, enclosed, map(bool, open_braces), strict=True)]
    return said, gaps


def lost_in(text: str) -> list[Said]:
    """The objects of a text that was dropped; those that are broken are passed over."""
    found: list[Said] = []
    end, patience = 0, Patience()
    while start := OBJECT.search(text, end):
        try:
            value, end = DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError) as error:
            end = patience.after(error, start.start())
        else:
            found.append(Said(value, text[start.start() : end], lost=True))
    return found


class Patience:
    """With broken objects: each is read up to where it breaks, and those inside of it once more."""

    def __init__(self) -> None:
        self._left = _MOST_IN_VAIN

    def end_of(self, text: str, start: int) -> int | None:
        """Where the object that begins there ends; None if it is broken."""
        try:
            return _ANY.raw_decode(text, start)[1]
        except (ValueError, RecursionError) as error:
            self.after(error, start)
            return None

    def after(self, error: Exception, start: int) -> int:
        """Where to go on behind the beginning of a broken object. Raises `Unreadable` if there were too many."""
        self._left -= _OF_ONE + getattr(error, "pos", start) - start
        if self._left < 0:
            raise Unreadable("it holds too many broken objects")
        return start + 1


def folded(answer: Any) -> str:
    """An answer without what is forgiven; anything but text is told apart by its JSON."""
    if not isinstance(answer, str):
        return json.dumps(answer)
    return _SPACE.sub("_", UNSEEN.sub("", answer).strip()).casefold()


def _enclosed(gaps: Sequence[str]) -> list[bool]:
    """For each object whether it stands in a pair of tags, or directly behind one, by the texts around all of them."""
    opened: dict[str, list[int]] = {}
    steps: Counter[int] = Counter()
    for number, gap in enumerate(gaps):
        for mark in _MARK.finditer(gap):
            name = (mark["name"] or "!").casefold()
            if name in STATING:
                continue
            if not (mark["end"] or mark["commented"]):
                opened.setdefault(name, []).append(number)
            elif opened.get(name):
                steps[opened[name].pop()] += 1
                steps[number] -= 1
    depths = accumulate(steps[number] for number in range(len(gaps) - 1))
    return [bool(depth) or _opened(gap) for depth, gap in zip(depths, gaps, strict=False)]


def _opened(gap: str) -> bool:
    tag = _OPENED.search(gap[-_LONGEST_TAG:])
    return tag is not None and (tag["name"] or "").casefold() not in STATING


def _name(key: str) -> str:
    return UNSEEN.sub("", key).strip().casefold()


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    # "Answer" beside "answer" says two things just as well.
    if len({_name(name) for name in value}) < len(pairs):
        raise Unreadable("a key of its object stands twice")
    return value


def _no_constant(name: str) -> NoReturn:
    raise Unreadable(f"{name} is no JSON")


# strict=False: a raw newline inside a text is common and harmless.
DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_distinct, parse_constant=_no_constant)
_ANY = json.JSONDecoder(strict=False)
