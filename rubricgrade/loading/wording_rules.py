"""Wording that a judge can't answer well. Each rule looks at one judged criterion and says what is the matter."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import PurePosixPath

from rubricgrade.loading import codes
from rubricgrade.rubric import Judge
from rubricgrade.rubric.judge import DEFAULT_SEES
from rubricgrade.rubric.rules import Placed

COMPOUND = re.compile(r"\bas well as\b|\band (?:also|then)\b|\band\b.+\band\b|[.;]\s+\w", re.IGNORECASE)
VAGUE = re.compile(
    r"\b(?:good|appropriate|appropriately|reasonable|adequate|proper|properly|nice|suitable|sufficient|satisfactory|"
    r"professional|high[- ]quality|well[- ](?:written|structured|designed))\b",
    re.IGNORECASE,
)
OWN_SCALE = re.compile(
    r"\b\d+(?:\.\d+)?\s*(?:/|out of)\s*\d+\b|\b(?:score|rate|grade) (?:it |this )?(?:from|of|on)\b|\bgive \d",
    re.IGNORECASE,
)
LENGTH = re.compile(
    r"\b(?:comprehensive(?:ly)?|detailed|thorough(?:ly)?|extensive(?:ly)?|exhaustive(?:ly)?|in[- ]depth|elaborate)\b",
    re.IGNORECASE,
)
NUMBER = r"(?:\d{2,}|[3-9]|three|four|five|six|seven|eight|nine|ten|twenty|fifty|hundred)"
COUNTING = re.compile(
    rf"\b(?:at least|at most|exactly|(?:no )?more than|(?:no )?(?:fewer|less) than|up to|between) {NUMBER}\b(?! ?%)"
    rf"|\b{NUMBER} or (?:more|fewer|less)\b|\bthe number of\b|\bhow many\b|\bcount the\b",
    re.IGNORECASE,
)
NEGATION = re.compile(
    r"\b(?:does|do|did|is|are|was|were|has|have|had|must|may|should|will|can)(?: not\b|n't\b)|\bcannot\b|\bnever\b"
    r"|\bavoids?\b|\brefrains?\b|^\s*(?:no|none|nothing|nobody)\b",
    re.IGNORECASE,
)
HEDGED = re.compile(
    r"\b(?:may|might|could|possibly|perhaps|ideally|preferably|try|tries|attempts? to|as needed|"
    r"(?:if|where|when|as far as) possible)\b",
    re.IGNORECASE,
)
CODE = re.compile(
    r"\btests? pass(?:es)?\b|\bexit(?:s)? (?:code|status|with)\b|\b(?:file|folder) (?:named|called|exists)\b"
    r"|\b(?:is|are) valid (?:json|yaml|csv|xml|python)\b|\bcompiles\b|\bruns without (?:an )?errors?\b"
    r"|\bcalls the tool\b|\bin (?:fewer|less) than \w+ steps\b",
    re.IGNORECASE,
)
TOLD = re.compile(r"\b(?:says?|claims?|states?|reports?|tells?|explains?|mentions?)\b", re.IGNORECASE)
FILE = re.compile(r"(?<![\w/.@])[\w./-]+\.(?:md|pdf|docx?|xlsx?|pptx?|csv|json|ya?ml|txt|html?|log|sqlite|db|eml)\b")
THINKING = re.compile(r"\b(?:private |hidden |inner )(?:reasoning|thoughts?)\b|\bchain of thought\b", re.IGNORECASE)
CALLS = re.compile(r"\btool calls?\b|\bcommands? that\b|\bcalls? (?:a|the|no) tool\b", re.IGNORECASE)
BARE = 2
"""Words that describe a step of a scale so little that they might be missing."""

Told = tuple[str, str, str]
"""A code, the key of the criterion that it is about, and what is the matter."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A judged criterion as its judge gets it.

    Attributes:
        text: Its description.
        judge: Its settings, completed by the rubric's.
        anchored: Something beside the description says what is meant.
        sign: 1 if meeting it raises the score, -1 if it lowers it.
    """

    text: str
    judge: Judge
    anchored: bool
    sign: int


def wording(one: Placed, default: Judge) -> Iterator[Told]:
    """What is the matter with the wording of a criterion; nothing for one that is not judged."""
    criterion = one.criterion
    if criterion.judge is None:
        return
    own = criterion.judge
    anchored = bool(own.guidance or own.scale or own.reference or own.reference_files or criterion.examples)
    asked = Asked(criterion.description, own.over(default), anchored, one.sign)
    for rule in RULES:
        yield from rule(asked)


def _compound(asked: Asked) -> Iterator[Told]:
    if COMPOUND.search(asked.text):
        yield (
            codes.COMPOUND,
            "description",
            "asks several things at once; a judge that finds one of them missing has to guess",
        )


def _vague(asked: Asked) -> Iterator[Told]:
    if not asked.anchored and (match := VAGUE.search(asked.text)):
        told = f"{match.group().lower()!r} means something else to every judge; say what is looked for"
        yield codes.VAGUE, "description", told


def _own_scale(asked: Asked) -> Iterator[Told]:
    for key, text in (("description", asked.text), ("judge", asked.judge.guidance or "")):
        if OWN_SCALE.search(text):
            yield codes.OWN_SCALE, key, "names a scale of its own; the judge answers yes or no, or by 'judge.scale'"


def _length(asked: Asked) -> Iterator[Told]:
    if asked.sign > 0 and not asked.anchored and (match := LENGTH.search(asked.text)):
        told = f"{match.group().lower()!r} rewards length; say what must be in it"
        yield codes.LENGTH, "description", told


def _counting(asked: Asked) -> Iterator[Told]:
    if match := COUNTING.search(asked.text):
        told = f"asks a judge to count ({match.group()!r}), which models do badly; count in a check, or name the things"
        yield codes.COUNTING, "description", told


def _negation(asked: Asked) -> Iterator[Told]:
    if asked.sign > 0 and (match := NEGATION.search(asked.text)):
        told = (
            f"gives points for an absence ({match.group().strip()!r}), which idleness earns too; say what is wanted, or"
            " give the unwanted negative points"
        )
        yield codes.NEGATION, "description", told


def _hedged(asked: Asked) -> Iterator[Told]:
    if not asked.anchored and (match := HEDGED.search(asked.text)):
        told = f"{match.group().lower()!r} leaves open what must hold; say it, or say in 'guidance' when it does"
        yield codes.HEDGED, "description", told


def _unseen(asked: Asked) -> Iterator[Told]:
    judge = asked.judge
    sees = judge.sees or DEFAULT_SEES
    if THINKING.search(asked.text) and "reasoning" not in sees:
        yield (
            codes.UNSEEN,
            "description",
            "asks about private reasoning, which the judge is not shown; see 'judge.sees'",
        )
    if judge.sees is not None and CALLS.search(asked.text) and not {"tool_calls", "tool_results"} & set(sees):
        yield codes.UNSEEN, "description", "asks about tool calls, which 'judge.sees' leaves out"
    # Without `artifacts` of its own the judge is shown what the task declares, which is not known here.
    if judge.artifacts is None:
        return
    shown = (*judge.artifacts, *(judge.world or ()), *judge.reference_files)
    for match in FILE.finditer(asked.text):
        if not any(_matches(match.group(), glob) for glob in shown):
            told = f"asks about {match.group()!r}, which is in none of 'artifacts', 'world' and 'reference_files'"
            yield codes.UNSEEN, "description", told


def _matches(name: str, glob: str) -> bool:
    return fnmatch(name, glob) or fnmatch(PurePosixPath(name).name, PurePosixPath(glob).name)


def _code(asked: Asked) -> Iterator[Told]:
    match = CODE.search(asked.text)
    if asked.sign > 0 and match and not TOLD.search(asked.text[: match.start()]):
        told = f"{match.group()!r} can be decided by code, for certain and for nothing: make it a check or a gate"
        yield codes.CODE, "description", told


def _bare_scale(asked: Asked) -> Iterator[Told]:
    steps = asked.judge.scale or ()
    bare = [step.choice for step in steps if len((step.description or "").split()) <= BARE]
    if bare:
        told = f"step {', '.join(map(repr, bare))} has no 'description' that tells it from the next one"
        yield codes.BARE_SCALE, "judge", told


RULES: tuple[Callable[[Asked], Iterator[Told]], ...] = (
    _compound,
    _vague,
    _own_scale,
    _length,
    _counting,
    _negation,
    _unseen,
    _code,
    _bare_scale,
    _hedged,
)
