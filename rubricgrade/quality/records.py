"""What was found about a task, as values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

SCHEMA = "rubricgrade.quality/1"

Kind = Literal["flaky", "ambiguous", "unsolved", "broken", "leaking", "duplicate"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""In the order in which they count: the first one found is the reason for which a task is left out."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)


class Doubt(_Record):
    """One thing that speaks against a task.

    Attributes:
        kind: ``flaky``: the same work is not graded the same; ``ambiguous``: who decides a criterion is divided on
            the same trajectory, or it speaks against the reference; ``unsolved``: the reference does not solve it;
            ``broken``: doing nothing solves it; ``leaking``: the agent can reach the answer; ``duplicate``: it shows
            the agent what another task shows.
        what: What was found, in a sentence.
        evidence: What was run and seen: values, quotes, files with lines. Others wrote some of it.
        place: ``file:line`` of the gate or criterion, the file from the task's folder on; empty if it is about none.
        remedy: What to do.
    """

    kind: Kind
    what: str
    evidence: tuple[str, ...] = ()
    place: str = ""
    remedy: str


class Undecided(_Record):
    """Something that could not be found out: no fault of the task's, and no all-clear.

    Attributes:
        kind: What would have been found.
        why: Why it was not.
    """

    kind: Kind
    why: str


Found = Doubt | Undecided


class QualityReport(_Record):
    """What was found about one task.

    Attributes:
        task: Its id.
        hash: Of all that decides an episode and its grade.
        repeats: How often the reference was played.
        attempts: Stored attempts that were looked at.
        doubts: What speaks against it, by `KINDS`.
        undecided: What could not be found out.
    """

    schema_: Literal["rubricgrade.quality/1"] = Field(default=SCHEMA, alias="schema")
    task: str
    hash: str
    repeats: int
    attempts: int = 0
    doubts: tuple[Doubt, ...] = ()
    undecided: tuple[Undecided, ...] = ()

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of its doubts, each once, the one that counts first."""
        return tuple(kind for kind in KINDS if any(doubt.kind == kind for doubt in self.doubts))

    def also(self, doubt: Doubt) -> QualityReport:
        """The report with one more doubt."""
        return self.model_copy(update={"doubts": merged((*self.doubts, doubt))})


def merged(doubts: Iterable[Doubt]) -> tuple[Doubt, ...]:
    """Doubts by `KINDS`, otherwise as they came; those that say the same of the same place as one."""
    found: dict[tuple[Kind, str, str], Doubt] = {}
    for doubt in doubts:
        key = (doubt.kind, doubt.what, doubt.place)
        seen = found[key].evidence if key in found else ()
        found[key] = doubt.model_copy(update={"evidence": tuple(dict.fromkeys((*seen, *doubt.evidence)))})
    return tuple(sorted(found.values(), key=lambda doubt: KINDS.index(doubt.kind)))
