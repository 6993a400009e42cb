"""One thing that a judge decided and people may have decided too, and how decisions become counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from rubricgrade.agreement.measures import CANNOT_TELL, MET, NOT_MET
from rubricgrade.agreement.number import Counts, Pairs, labelled_only

Abstentions = Literal["excluded", "error", "class"]
"""What a judge's ``cannot_tell`` is: in no measure (but in the coverage), a wrong answer, or an answer of its own."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One criterion, or one item of it, in one trajectory.

    Attributes:
        trajectory: What is drawn as a whole when intervals are made.
        criterion: Whose row it belongs to.
        judge: ``met``, ``not_met``, a choice of a scale or ``cannot_tell``; None: there is no verdict.
        people: Who answered, and what; several people may have.
    """

    trajectory: str
    criterion: str
    judge: str | None
    people: tuple[tuple[str, str], ...] = ()

    @property
    def person(self) -> str | None:
        """What more than half of the people answered; None if nobody did, or no answer has so many."""
        ranked = Counter(answer for _, answer in self.people).most_common(1)
        return ranked[0][0] if ranked and 2 * ranked[0][1] > len(self.people) else None


def count(decisions: Iterable[Decision]) -> Counter[tuple[str | None, str]]:
    """How often people and the judge answered what; a decision without a verdict is in no count."""
    return Counter((each.person, each.judge) for each in decisions if each.judge is not None)


def paired(counts: Counts, abstentions: Abstentions, order: Sequence[str]) -> Pairs:
    """What is compared.

    Args:
        counts: With and without an answer of people.
        abstentions: What a ``cannot_tell`` is. People's own is compared only where it is an answer of its own.
        order: A scale's choices, lowest first; empty for two answers, or if the order is not known.
    """
    pairs = labelled_only(counts)
    if abstentions == "class":
        return pairs
    settled = Counter[tuple[str, str]]()
    for (person, judge), number in pairs.items():
        if person == CANNOT_TELL or (judge == CANNOT_TELL and abstentions == "excluded"):
            continue
        settled[person, _wrong(person, order) if judge == CANNOT_TELL else judge] += number
    return settled


def _wrong(person: str, order: Sequence[str]) -> str:
    """The answer that is most wrong; where no order tells which, the abstention itself is one."""
    if person in (MET, NOT_MET):
        return NOT_MET if person == MET else MET
    if person not in order:
        return CANNOT_TELL
    return order[-1] if 2 * order.index(person) < len(order) - 1 else order[0]
