"""What a run has cost, by its lines, and whether it may go on. An unknown cost can't be kept below anything."""

from __future__ import annotations

from collections.abc import Iterable

from rubricgrade.errors import JudgeError
from rubricgrade.runs.lines import Line


class Purse:
    """The cap of a run, over agents and judges and over every time that it was resumed.

    Args:
        cap: US dollars; None sets none.
        lines: What has been done so far.
    """

    def __init__(self, cap: float | None, lines: Iterable[Line] = ()) -> None:
        self._cap = cap
        self._spent: float | None = 0.0
        for line in lines:
            self.take(line)

    def take(self, line: Line) -> None:
        """Count one attempt."""
        costs = (self._spent, line.usage.cost, line.judging.cost)
        known = [cost for cost in costs if cost is not None]
        self._spent = sum(known) if len(known) == len(costs) else None

    def left(self) -> float | None:
        """US dollars that may still be spent, 0 or more; None without a cap.

        Raises:
            JudgeError: ``budget``: it is not known.
        """
        if self._cap is None:
            return None
        if self._spent is None:
            raise JudgeError(
                f"what the run has cost so far is not known, so a cap of ${self._cap:g} can't be kept: no price is"
                " known of a model that was asked",
                "budget",
            )
        return max(0.0, self._cap - self._spent)

    def check(self) -> None:
        """See that another attempt may begin.

        Raises:
            JudgeError: ``budget``: the cap is reached, or it can't be known whether it is.
        """
        if self.left() == 0:
            raise JudgeError(f"the run has cost ${self._spent:.4f}, and its cap is ${self._cap:g}", "budget")
