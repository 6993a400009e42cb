"""What came of a check: a value with evidence, or whose fault it is that there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rubricgrade.result import Cause, Evidence, Raised

Origin = Literal["agent", "grader"]
Where = Literal["none", "out-of-process", "in-process+twins", "in-process"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one check.

    Attributes:
        kind: The kind of check.
        value: 0 to 1; None when there is a fault, or when only bands make a value of `measured`.
        measured: The number that was measured, before bands or a threshold.
        fields: Named numbers besides.
        evidence: What was seen, and where.
        message: One sentence on what happened.
        fault: ``agent``: it counts as the worst value; ``grader``: it stays open; None: it was decided.
        cause: Why it is open.
        isolation: Where the agent's code ran.
        seconds: Wall time.
        passed: Of how many cases, where it counts any.
        total: Cases in all.
        raised: What the author's code raised; None if it did not.
    """

    kind: str
    value: float | None = None
    measured: float | None = None
    fields: Mapping[str, float] = field(default_factory=dict[str, float])
    evidence: tuple[Evidence, ...] = ()
    message: str = ""
    fault: Origin | None = None
    cause: Cause | None = None
    isolation: Where = "none"
    seconds: float = 0.0
    passed: int | None = None
    total: int | None = None
    raised: Raised | None = None


class ItemsFault(Exception):
    """The items of a ``for_each`` could not be listed.

    Attributes:
        fault: Whose doing that is.
        message: What happened.
        cause: Why the criterion is open; None when the agent is at fault.
        raised: What the function that lists them raised; None if it did not.
    """

    def __init__(self, fault: Origin, message: str, cause: Cause | None = None, raised: Raised | None = None) -> None:
        super().__init__(message)
        self.fault: Origin = fault
        self.message = message
        self.cause: Cause | None = cause
        self.raised = raised

    def __reduce__(self) -> tuple[type[ItemsFault], tuple[Origin, str, Cause | None, Raised | None]]:
        return type(self), (self.fault, self.message, self.cause, self.raised)
