"""The alarm of a server: whether too many of the latest episodes could not be graded."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable

LOG = logging.getLogger("rubricgrade.server")

FEWEST = 20
"""Episodes that must have been seen in the window before a share says anything."""
MOST = 100_000
"""Episodes that are remembered at most, so that a fast server does not fill its memory with them."""


class Alarm:
    """The share of ungraded episodes over a sliding window of time.

    Args:
        above: The share above which it is on; None never is.
        window: Seconds.
        clock: Seconds that only grow.
    """

    def __init__(self, above: float | None, window: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._above = above
        self._window = window
        self._clock = clock
        self._seen: deque[tuple[float, bool]] = deque()
        self._ungraded = 0
        self._was_on = False

    def take(self, *, ungraded: bool) -> None:
        """Note how one episode ended."""
        self._seen.append((self._clock(), ungraded))
        self._ungraded += ungraded
        self._look()

    @property
    def share(self) -> float:
        """Of the episodes in the window, how many could not be graded; 0 when there are none."""
        self._look()
        return self._ungraded / len(self._seen) if self._seen else 0.0

    @property
    def on(self) -> bool:
        """Whether the share is above the threshold, of enough episodes."""
        self._look()
        return self._was_on

    def _look(self) -> None:
        """Forget what has left the window, and log when the alarm goes on or off."""
        since = self._clock() - self._window
        while self._seen and (self._seen[0][0] < since or len(self._seen) > MOST):
            self._ungraded -= self._seen.popleft()[1]
        seen = len(self._seen)
        is_on = self._above is not None and seen >= FEWEST and self._ungraded / seen > self._above
        if is_on != self._was_on:
            self._was_on = is_on
            log = LOG.error if is_on else LOG.warning
            log("alarm %s: %d of the latest %d episodes ungraded", "on" if is_on else "off", self._ungraded, seen)
