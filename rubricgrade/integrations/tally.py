"""How many episodes ended how, and the alarm for a grader that fails too often to train on."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Sequence

from rubricgrade.errors import InputError, RubricgradeError

LATEST = 200
FEWEST = 20


class TooManyUngraded(RubricgradeError, RuntimeError):
    """More episodes than allowed could not be graded: what is trained on is no longer what was asked for."""

    exit_code = 3


class Tally:
    """Counts outcomes over the life of a rewarder.

    Args:
        abort_above: The share of ungraded episodes, of the latest `LATEST` and once there are `FEWEST`, above which
            `take` raises; None never does.

    Raises:
        InputError: It is no share.
    """

    def __init__(self, abort_above: float | None = None) -> None:
        if abort_above is not None and not 0 <= abort_above < 1:
            raise InputError(f"abort_above must be a share from 0 to below 1, not {abort_above!r}")
        self._abort_above = abort_above
        self._counts: Counter[str] = Counter()
        self._latest: deque[bool] = deque(maxlen=LATEST)
        self._lock = threading.Lock()

    @property
    def counts(self) -> dict[str, int]:
        """Episodes by cause of having no reward; those with one under ``graded``."""
        with self._lock:
            return dict(self._counts)

    def take(self, causes: Sequence[str | None]) -> None:
        """Count episodes by their cause; None is a graded one.

        Raises:
            TooManyUngraded: See `abort_above`.
        """
        with self._lock:
            self._counts.update(cause or "graded" for cause in causes)
            self._latest.extend(cause is not None for cause in causes)
            ungraded, seen = sum(self._latest), len(self._latest)
            counts = dict(self._counts)
        if self._abort_above is not None and seen >= FEWEST and ungraded / seen > self._abort_above:
            raise TooManyUngraded(f"{ungraded} of the latest {seen} episodes could not be graded; in all: {counts}")
