"""Whose fault it is: what one run can't tell is run again in fresh forks, then without anything of the agent's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from rubricgrade.checks.dialogue import Attempt, Trouble

Try = Callable[[bool, bool], Awaitable[Attempt]]
"""Carries out a check: (in fresh sandboxes, as a control without anything of the agent's)."""


@dataclass(frozen=True, slots=True)
class Settled:
    """An attempt whose trouble, if it has any, is somebody's: never ``unclear``."""

    attempt: Attempt
    trouble: Trouble | None


async def settle(attempt: Try) -> Settled:
    """Carry out a check until it is clear whose fault its trouble is, three times at most.

    A fault that goes away in fresh sandboxes was nobody's. One that comes again is the grader's if it also comes with
    nothing of the agent's there, and else the agent's: who is about to fail must not be able to buy an open verdict.
    """
    first = await attempt(False, False)
    if _is_clear(first):
        return Settled(first, first.trouble)
    second = await attempt(True, False)
    if _is_clear(second):
        return Settled(second, second.trouble)
    control = await attempt(True, True)
    trouble = second.trouble
    if trouble is not None and trouble.origin == "unclear":
        same = control.trouble is not None and control.trouble.kind == trouble.kind
        if same or _is_lost(control):
            return Settled(second, replace(trouble, origin="grader"))
        message = f"only with what the agent left: {trouble.message}"
        return Settled(second, replace(trouble, origin="agent", message=message))
    if second.doubts & control.doubts or _is_lost(control):
        what = ", ".join(sorted(second.doubts & control.doubts)) or "lost"
        message = f"the check ends by {what} also when nothing of the agent's is there"
        return Settled(second, Trouble("grader", what, message))
    return Settled(second, trouble)


def _is_clear(attempt: Attempt) -> bool:
    if attempt.trouble is not None:
        return attempt.trouble.origin == "grader" or (attempt.trouble.origin == "agent" and not attempt.doubts)
    return not attempt.doubts


def _is_lost(control: Attempt) -> bool:
    """Whether our own sandbox failed in the control, so that it proves nothing."""
    return control.trouble is not None and control.trouble.kind == "lost"
