"""What a check says, and the two ways in which it can fail to say anything: by the agent's doing or by the author's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

QUOTE = 500
"""Longest quote of one piece of evidence, in characters."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One piece of evidence: what was seen, and where (``report.csv:3``, ``[12].call_1``), if it has a place."""

    quote: str
    where: str | None = None


@dataclass(frozen=True)
class CheckResult:
    """What a check found out.

    Attributes:
        value: True, False or a number from 0 to 1; None when only `measured` or `fields` matter (bands, `pick`).
        measured: The number that was measured, before bands or a threshold.
        fields: Named numbers besides, for `pick`.
        evidence: Texts, (text, place) pairs or `Seen`.
        message: One sentence on what happened.
        passed: Of how many cases, where it counts any.
        total: Cases in all.
        faulted: How many of the cases that did not pass ended by a fault of the solution (a hang, a crash of its
            process, a reply that is none) and not by a wrong answer.
        twinned: Every case was run beside one that must fail, see `twins`.
    """

    value: bool | float | None = None
    measured: float | None = None
    fields: Mapping[str, float] = field(default_factory=dict[str, float])
    evidence: Sequence[str | tuple[str, str | None] | Seen] = ()
    message: str = ""
    passed: int | None = None
    total: int | None = None
    faulted: int = 0
    twinned: bool = False


class AgentFault(Exception):
    """The agent's own doing keeps the check from a verdict: the worst value follows, with the evidence."""

    def __init__(self, message: str, evidence: Sequence[Seen] = ()) -> None:
        super().__init__(message)
        self.evidence = tuple(evidence)


class BadArtifact(AgentFault):
    """A file that the agent left is missing, unreadable or hostile."""

    def __init__(self, path: str, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(f"{path}: {why}", (Seen(f"{path}: {why}", path),))


class AuthorFault(Exception):
    """The check itself, or what it needs, is at fault; never the agent."""


class Unusable(ValueError):
    """A value that is none for its place: the author's own, or one of the agent's that the author's code has passed on.

    Which of them can't be told here. The host finds out: what comes of the author's alone comes without the agent too.
    """
