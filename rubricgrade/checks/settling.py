"""Whose fault it is: what one run can't tell is run again in fresh forks, then without what the agent left."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Literal

from rubricgrade.checks.dialogue import Attempt, Trouble
from rubricgrade.result import RETURNED

Given = Literal["all", "start", "nothing"]
"""What a check is given: what the agent left, over the state that it started from; that state alone; no file at all."""
DOUBT = "it is the check that {did}, so this may be a defect of the check"
"""What is said of a fault that counts as the agent's although it may be the author's."""
ONCE = frozenset({"killed"})
"""Doubts that a second run settles: what comes again is no chance of the host's, and no limit that may be narrow."""
Try = Callable[[bool, Given], Awaitable[Attempt]]
"""Carries out a check: in fresh sandboxes or not, and given what."""


@dataclass(frozen=True, slots=True)
class Settled:
    """An attempt whose trouble, if it has any, is somebody's: never ``unclear``."""

    attempt: Attempt
    trouble: Trouble | None


async def settle(attempt: Try, *, starts_empty: bool = False) -> Settled:
    """Carry out a check until it is clear whose fault its trouble is, four times at most.

    A fault that goes away in fresh sandboxes was nobody's. One that comes again, and that the host has measured to be
    its own, is the grader's. Any other that comes again is the agent's, who is about to fail and must not be able to
    buy an open verdict, unless it comes without the agent as well:

    * The check itself failed: it is the grader's if it fails in the same way on the start state.
    * The solution did not come to its own end: on the start state it may do that as well, for that may be what the
      agent was to put right. So it is the grader's only if it happens in an empty work folder too, where nothing but
      the check and its limits is left to blame.

    Args:
        attempt: Carries it out.
        starts_empty: There are no files that the agent starts from.
    """
    first = await attempt(False, "all")
    if _is_clear(first):
        return Settled(first, first.trouble)
    second = await attempt(True, "all")
    second = replace(second, doubts=second.doubts - ONCE)
    if _is_clear(second):
        return Settled(second, second.trouble)
    if second.trouble is not None and second.trouble.by_host:
        return Settled(second, _graders(second, "lost"))
    start = await attempt(True, "start")
    trouble = second.trouble
    if _is_lost(start):
        return Settled(second, _graders(second, "lost"))
    if _is_same(trouble, start.trouble) and not second.doubts & start.doubts:
        return Settled(second, _graders(second, ""))
    if shared := _limits(second) & _limits(start):
        bare = start if starts_empty else await attempt(True, "nothing")
        if (both := shared & _limits(bare)) or _is_lost(bare) or _is_same(trouble, bare.trouble):
            return Settled(second, _graders(second, ", ".join(sorted(both))))
        return Settled(second, _agents(trouble, "as in the state that it started from"))
    return Settled(second, _agents(trouble, "only with what the agent left"))


def _limits(attempt: Attempt) -> frozenset[str]:
    """The limits that an attempt ran into: the solution's run, or the check that was waiting for it.

    Which of the two a limit stops first is a matter of how busy the machine is, and says nothing of whose fault it is.
    """
    trouble = attempt.trouble
    if trouble is None or trouble.origin != "unclear" or trouble.kind not in ("timeout", "memory"):
        return attempt.doubts
    return attempt.doubts | {trouble.kind}


def _graders(attempt: Attempt, ending: str) -> Trouble:
    trouble = attempt.trouble
    if trouble is not None and trouble.origin == "unclear":
        return replace(trouble, origin="grader")
    return Trouble("grader", ending, f"the check ends by {ending} also when nothing of the agent's is there")


def _agents(trouble: Trouble | None, when: str) -> Trouble | None:
    if trouble is None or trouble.origin != "unclear":
        return trouble
    doubt = f"; {DOUBT.format(did=RETURNED.get(trouble.kind, 'raised'))}" if trouble.place else ""
    return replace(trouble, origin="agent", message=f"{when}: {trouble.message}{doubt}")


def _is_same(trouble: Trouble | None, other: Trouble | None) -> bool:
    """Whether the check itself failed, and does so in the same way, at the same line."""
    if trouble is None or trouble.origin != "unclear" or other is None:
        return False
    return (other.kind, other.place) == (trouble.kind, trouble.place)


def _is_clear(attempt: Attempt) -> bool:
    if attempt.trouble is not None:
        return attempt.trouble.origin == "grader" or (attempt.trouble.origin == "agent" and not attempt.doubts)
    return not attempt.doubts


def _is_lost(control: Attempt) -> bool:
    """Whether our own sandbox failed in a control, so that it proves nothing."""
    return control.trouble is not None and control.trouble.kind == "lost"
