"""What a reply says in words around its object. Words never decide, but they can take the object back.

Nobody can read all prose. What is looked for are another of the possible answers where it is given as the answer
("Final answer: no", ``{'answer': 'no'}``), and behind the object what says that it does not hold ("Wait, ...").
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from rubricgrade.judge.objects import UNSEEN, folded

_TAG = re.compile(r"[`~]{3,}\w{0,20}|</?\|?[a-z_][\w-]{0,40}\|?>", re.IGNORECASE)
_FILLED = (
    r"(?:[^\w\n]{1,12}(?:is|was|be|been|are|should|must|would|will|can|has|becomes?|remains?|now|then|thus|therefore|"
    r"actually|really|instead|rather|final|corrected|revised|changed|to|for|of|on|the|this|that|criterion|question|q\d+)"
    r"\b){0,5}(?P<not>[^\w\n]{1,12}not\b)?"
)
"""What may stand between "answer" and the answer."""

_ENDS = r"(?!\w|\.\d)(?=\s*(?:\Z|\n|[^\w\s-]|-\W)|\s+(?:because|since|as|due|given|for|and|but|so)\b)"
"""What follows an answer: "no" is one, the "no" of "no longer" is not."""

_SUPPOSED = re.compile(r"\b(?:if|whether|when|unless|until|suppose|had)\b[^.!?\n]*\Z", re.IGNORECASE)
_ANOTHERS = re.compile(
    r"\b(?:agent|assistant|user|customer|client|model|bot|tool|reference|expected)(?:'s|s')?(?:\W\w{1,20})?\W{1,3}\Z",
    re.IGNORECASE,
)
"""What stands before an answer that is not the judge's: "the agent's final"."""

_BEFORE = 200  # characters before an answer that are looked at
_MOST = 200_000  # characters in compatible form, to which one may grow 18 times
_AROUND = " \t\r\n.!`*_'\"()[]{}<>-"
_NOT = re.compile(r"n't\b", re.IGNORECASE)
_TAKEN_BACK = re.compile(
    r"(?:\A|[\n.!?;:*_>)}])\s{0,4}(?:(?:oh|hmm+|sorry|no|but|and|however|well)\W{1,3}){0,2}"
    r"(?:wait(?=\W*\Z|\s*[^\w\s]|\s*\n| (?:no|that|this|it|i)\b)|actually(?=,| (?:no|that|i)\b)|correction\b"
    r"|(?:scratch|strike) that\b|on (?:second|further|closer) \w|on reflection\b"
    r"|i (?:take|took) (?:that|this|it) back\b|i(?:'m| am| was) (?:wrong|mistaken)\b|i made an? (?:mistake|error)\b"
    r"|i (?:can ?not|ca not) (?:tell|decide|say|judge)\b|(?:please )?(?:disregard|ignore) (?:that|this|the|my)\b"
    r"|(?:the|my) (?:(?:above|previous|first) )?(?:object|json|answer|verdict)(?: above)? (?:is|was) "
    r"(?:wrong|incorrect|mistaken|not (?:right|correct)))",
    re.IGNORECASE,
)
_MET = re.compile(
    r"\bcriterion(?:\W{1,3}holds\b|(?:\W{1,3}(?:is|was|has|does|therefore|thus|hence|clearly|indeed)\b){1,4}"
    r"(?P<not>\W{1,3}not\b)?(?:\W{1,3}(?:been|fully)\b)?"
    r"\W{1,3}(?:(?P<un>unmet|unsatisfied|unfulfilled|false|violated)|met|satisfied|fulfilled|true|hold)\b)",
    re.IGNORECASE,
)
"""What a judge says that explains its answer: "the criterion is not met"."""


@dataclass(frozen=True)
class Remarks:
    """The words of a reply.

    Attributes:
        before: What stands before its object and between others, thinking aside.
        behind: What stands behind all of them.
    """

    before: str = ""
    behind: str = ""

    def speak_against(self, given: str, answers: Sequence[str], name: str = "answer") -> bool:
        """Whether they take an answer back.

        Args:
            given: The answer.
            answers: All that are possible.
            name: What else than "answer" and the like it is called.
        """
        before, behind = self._plain
        if not before and not behind:
            return False
        if len(before) + len(behind) > _MOST:
            return True
        if self._take_back or folded(given) in self._denied:
            return True
        if any(folded(each) in self._bare and folded(each) != folded(given) for each in answers):
            return True
        pattern = _naming(tuple(answers), name)
        named = [*_named(pattern, answers, before, thought=True), *_named(pattern, answers, behind, thought=False)]
        return any((answer == given) == denied for answer, denied in named)

    @cached_property
    def _plain(self) -> tuple[str, str]:
        return _plain(self.before), _plain(self.behind)

    @cached_property
    def _take_back(self) -> bool:
        return bool(_TAKEN_BACK.search(self._plain[1]))

    @cached_property
    def _denied(self) -> set[str]:
        """The answers to "is this criterion true" that do not fit what is said behind."""
        return {"yes" if bool(said["not"]) != bool(said["un"]) else "no" for said in _MET.finditer(self._plain[1])}

    @cached_property
    def _bare(self) -> set[str]:
        """Sentences behind, and all that stands before: an answer may stand there alone."""
        before, behind = self._plain
        return {folded(each.strip(_AROUND)) for each in (before, *re.split(r"[\n.!?;]", behind))}


def words_in(text: str) -> str:
    """What is left of a text around an object without fences and tags; empty if that is no word."""
    left = _TAG.sub("", text).strip()
    return left if re.search(r"\w", left) else ""


def _plain(text: str) -> str:
    if not text.strip():
        return ""
    return _NOT.sub(" not", UNSEEN.sub("", unicodedata.normalize("NFKC", text)).replace("\u2019", "'"))


def _named(pattern: re.Pattern[str], answers: Sequence[str], text: str, *, thought: bool) -> Iterator[tuple[str, bool]]:
    """The answers that a text gives as the answer, and whether it says that they are not."""
    for match in pattern.finditer(text):
        before = text[max(0, match.start() - _BEFORE) : match.start()]
        supposed = (thought or " would" in match.group()) and _SUPPOSED.search(before)
        if not supposed and not _ANOTHERS.search(before):
            yield answers[int((match.lastgroup or "")[1:])], bool(match["not"])


@lru_cache(maxsize=256)
def _naming(answers: tuple[str, ...], name: str) -> re.Pattern[str]:
    """Finds "the answer is" with an answer behind it."""
    longest_first = sorted(enumerate(answers), key=lambda each: -len(each[1]))
    named = "|".join(f"(?P<a{number}>{_loose(answer)})" for number, answer in longest_first)
    called = rf"\b(?:answer|verdict|decision|judge?ment|conclusion|correction|boxed|final|{re.escape(name)})\b"
    return re.compile(rf"{called}{_FILLED}\W{{1,12}}(?:{named}){_ENDS}", re.IGNORECASE)


def _loose(answer: str) -> str:
    return r"[\W_]{1,3}".join(re.escape(word) for word in re.split(r"[\s_]+", unicodedata.normalize("NFKC", answer)))
