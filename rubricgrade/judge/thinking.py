"""What a reply says outside of its thinking. A tag inside of an object is text: the judge quotes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rubricgrade.judge.objects import OBJECT, Patience
from rubricgrade.judge.remarks import words_in

# How models mark their thinking: <think>, <seed:think>, <|START_THINKING|>, [THINK], ◁think▷, <|channel|>analysis.
# Llama calls tools behind <|python_tag|>, which is nothing said either.
_TAG = re.compile(
    r"(?:<\|?|◁|\[(?=/?THINK\]))\s?(?P<end>/|end_(?:of_)?)?(?:(?:start|begin)_(?:of_)?)?(?:\w{1,20}:)?"
    r"(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratchpad|python_tag)"
    r"(?:\s[^<>\n]{0,100})?(?:\|?>|▷|\])"
    r"|<\|channel\|>\s*(?:(?P<final>final)|analysis|commentary)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Spoken:
    """A reply in parts.

    Attributes:
        text: What is said.
        lost: What a tag without its other half drops: thinking, or what a judge said before it quoted such a tag.
        lone: The last end without a beginning.
        behind: What is thought when all is said.
    """

    text: str
    lost: str = ""
    lone: str = ""
    behind: str = ""


def without_thinking(text: str) -> Spoken:
    """Take a reply apart. Thinking that never ends runs to the end; an end alone ends all before it."""
    kept: list[str] = []
    lost: list[str] = []
    behind: list[str] = []
    lone, begin, thinking = "", 0, False
    for tag in _tags(text):
        if thinking and not _closes(tag):
            continue
        _add(text[begin : tag.start()], behind if thinking else kept, behind)
        if _closes(tag) and not thinking:
            lost += kept
            kept.clear()
            lone = tag.group()
        begin, thinking = tag.end(), not _closes(tag)
    _add(text[begin:], behind if thinking else kept, behind)
    if thinking:
        lost.append(text[begin:])
    return Spoken("".join(kept), "\n".join(lost), lone, "\n".join(behind))


def _add(part: str, to: list[str], behind: list[str]) -> None:
    """Put a part to what is said or thought; what was thought before something that is said is not behind it."""
    if to is not behind and words_in(part):
        behind.clear()
    to.append(part)


def _closes(tag: re.Match[str]) -> bool:
    return bool(tag["end"] or tag["final"])


def _tags(text: str) -> Iterator[re.Match[str]]:
    """All tags but those in an object that is said. Of what is thought, broken objects may be all that there is."""
    at, patience, thinking = 0, Patience(), False
    tag = _TAG.search(text)
    while tag:
        start = None if thinking else OBJECT.search(text, at, tag.start())
        if start is None:
            yield tag
            at, thinking = tag.end(), not _closes(tag)
        else:
            at = patience.end_of(text, start.start()) or start.start() + 1
        if at > tag.start():
            tag = _TAG.search(text, at)
