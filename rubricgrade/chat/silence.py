"""A model that has never answered: after some asks the others fail at once, instead of finding it out one by one.

One that has answered once is asked as patiently as ever: a server that restarts costs no more than its absence.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from rubricgrade.chat.contract import AskFailed, Kind

ENOUGH = 8
"""Asks that must have failed, and none been answered."""
AGAIN = 15.0
"""Seconds after which one ask tries again whether somebody is there."""

_SILENT: frozenset[Kind] = frozenset({"unreachable", "auth", "not_found"})
"""What a wrong address, a wrong key and a wrong name look like. Any other failure comes from a model that is there."""


@dataclass(slots=True)
class Silence:
    """Whether a model has ever answered."""

    _answered: bool = False
    _failed: int = 0
    _next: float = 0.0
    # Words and kind alone: with the exception would be kept what was asked.
    _last: tuple[str, Kind] | None = None

    def check(self) -> None:
        """Fail like the last ask where it is pointless to ask.

        Raises:
            AskFailed: Nobody has answered yet, and it is not time to try again.
        """
        if self._answered or self._last is None or self._failed < ENOUGH:
            return
        now = monotonic()
        if now < self._next:
            words, kind = self._last
            before = f"{self._failed} asks before have failed like this, and none was answered"
            raise AskFailed(f"{words} Not asked: {before}.", kind)
        self._next = now + AGAIN

    def broken(self) -> None:
        """Note an answer."""
        self._answered = True

    def failed(self, failure: AskFailed) -> None:
        """Note that an ask has failed."""
        if failure.kind == "budget":
            return
        if failure.kind not in _SILENT:
            self._answered = True
            return
        self._failed, self._last = self._failed + 1, (str(failure), failure.kind)
        if self._failed == ENOUGH:
            self._next = monotonic() + AGAIN
