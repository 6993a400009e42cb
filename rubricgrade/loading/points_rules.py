"""Points, groups and gates that don't do what their author may think."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from rubricgrade.loading import codes
from rubricgrade.loading.document import Place
from rubricgrade.rubric import Check, Rubric
from rubricgrade.rubric.check import Command
from rubricgrade.rubric.rules import Placed, placed

LARGE_SHARE = 0.4
FEW = 3
NETWORK = frozenset({"curl", "wget", "ssh", "scp", "rsync", "ping"})
INSTALLING = frozenset({
    ("pip", "install"), ("pip3", "install"), ("uv", "sync"), ("npm", "install"), ("npm", "ci"), ("git", "clone"),
    ("apt", "install"), ("apt-get", "install"), ("cargo", "install"), ("go", "get"),
})  # fmt: skip

Finding = tuple[Place, str, str]
"""The place in a rubric, a code, and what is the matter there."""


def points(rubric: Rubric) -> Iterator[Finding]:
    """What is the matter with the points of a rubric as a whole."""
    numbers = [(index, top.points) for index, top in enumerate(rubric.tops) if top.points]
    total = sum(number for _, number in numbers if number > 0)
    positive = [(index, number) for index, number in numbers if number > 0]
    for index, number in positive:
        if len(positive) >= FEW and number > LARGE_SHARE * total:
            told = f"{rubric.tops[index].id!r} alone is worth {number / total:.0%} of the points"
            yield ("criteria", index, "points"), codes.SHARE, told
    penalties = -sum(number for _, number in numbers if number < 0)
    if penalties > total:
        told = (
            f"penalties of {penalties:g} exceed the {total:g} points that can be earned: the score says little below 0"
        )
        yield ("criteria",), codes.PENALTIES, told


def ungated(rubric: Rubric) -> Iterator[Finding]:
    """A rubric of judged criteria that code never keeps from giving points to nothing."""
    earning = [one for one in placed(rubric) if one.sign > 0 and not one.around]
    judged = bool(earning) and all(one.criterion.judge is not None for one in earning)
    if judged and not rubric.gates:
        told = (
            "has no gate, and a judge decides every point, so only a judge stops an agent that does nothing; a gate"
            " such as 'trajectory: {final_message: {matches: \"\\\\S\"}}' stops it before a judge is paid"
        )
        yield ("criteria",), codes.UNGATED, told


def group(one: Placed) -> Iterator[tuple[str, str, str]]:
    """What is the matter with the points of one criterion: a code, the key that it is about, and why."""
    criterion = one.criterion
    if one.sign < 0 and criterion.needs:
        yield codes.ESCAPE, "needs", "is a penalty (or a veto) that falls away when what it needs is not met"
    inside = sum(part.points for part in criterion.criteria or () if part.points is not None and part.points > 0)
    if criterion.full_at is not None and criterion.full_at > inside:
        yield codes.UNREACHABLE, "full_at", f"is above the {inside:g} points in the group, so it can never be fully met"


def network(rubric: Rubric) -> Iterator[Finding]:
    """Commands that reach for a network: sandboxes have none, so that such a check fails whatever the agent did."""
    for place, check in _checks(rubric):
        if isinstance(check.spec, Command) and (reached := _reaches_for(check.spec)):
            told = f"{reached!r} needs a network, and a sandbox has none; put what it fetches into the template"
            yield (*place, "command"), codes.NETWORK, told


def _checks(rubric: Rubric) -> Iterator[tuple[Place, Check]]:
    named = [(("checks", name), check) for name, check in rubric.checks.items()]
    gates = [(("gates", index, "check"), gate.check) for index, gate in enumerate(rubric.gates)]
    criteria = [((*one.place, "check"), one.criterion.check) for one in placed(rubric)]
    for place, check in (*named, *gates, *criteria):
        if isinstance(check, Check):
            yield _inmost(place, check)


def _inmost(place: Place, check: Check) -> tuple[Place, Check]:
    return _inmost((*place, "not"), check.spec) if isinstance(check.spec, Check) else (place, check)


def _reaches_for(command: Command) -> str:
    words = [word for part in command.run for word in re.split(r"[\s;&|]+", part)]
    alone = (word for word in words if word in NETWORK)
    pairs = (" ".join(pair) for pair in pairwise(words) if pair in INSTALLING)
    return next(alone, "") or next(pairs, "")
