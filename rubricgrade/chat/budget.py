"""A cap on what calls may cost together: it stops before the call that could pass it.

What a call can cost at most is set aside while it is under way. Where that leaves no room for another, the other waits
for what comes back, as most calls cost less.
"""

from __future__ import annotations

import asyncio
import threading

from rubricgrade.chat.contract import AskFailed

_LOOK_AGAIN = 0.05  # seconds between looks at what calls under way gave back; they may run on other loops


class Budget:
    """Dollars that may be spent; shared by every call that is given it.

    Attributes:
        limit: US dollars.
        spent: US dollars, by what is known of finished calls. Where a cost can't be known, what was set aside counts.
        calls: Attempts that cost something.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.spent = 0.0
        self.calls = 0
        self._pending = 0.0
        self._lock = threading.Lock()

    async def take(self, model: str, estimate: float | None) -> float:
        """As `reserve`, but wait as long as calls under way may give back enough."""
        while True:
            try:
                return self.reserve(model, estimate)
            except AskFailed:
                if estimate is None or not self._may_fit(estimate):
                    raise
            await asyncio.sleep(_LOOK_AGAIN)

    def _may_fit(self, estimate: float) -> bool:
        """Whether there would be room, had the calls under way cost nothing."""
        with self._lock:
            return self._pending > 0 and self._fits(self._expected(estimate))

    def reserve(self, model: str, estimate: float | None) -> float:
        """Set aside what the next attempt may cost; give it back with `settle`.

        Args:
            model: Named in the error.
            estimate: The most, by the prompt's length, the room for the reply and the model's price; None when the
                price is not known. Where calls have so far cost more on average, that counts instead.

        Returns:
            What was set aside.

        Raises:
            AskFailed: ``budget``: the attempt would pass the cap, or no price is known to keep it by.
        """
        if estimate is None:
            raise AskFailed(
                f"{model}: its price is not known, so a cap of ${self.limit:g} can't be kept. Give it (--judge-price,"
                " in Python `input_cost_per_token` and `output_cost_per_token` in `extra`), or set no cap.",
                "budget",
            )
        with self._lock:
            expected = self._expected(estimate)
            if not self._fits(self._pending + expected):
                raise AskFailed(
                    f"{model}: the cost cap of ${self.limit:g} is reached: ${self.spent:.4f} spent,"
                    f" ${self._pending:.4f} under way, and the next call may cost ${expected:.4f}."
                    " Raise the cap to go on.",
                    "budget",
                )
            self._pending += expected
        return expected

    def _expected(self, estimate: float) -> float:
        return max(estimate, self.spent / self.calls if self.calls else 0.0)

    def _fits(self, more: float) -> bool:
        # Sums of floats: an exact fit must not fail by a rounding error.
        return self.spent + more <= self.limit * (1 + 1e-9)

    def settle(self, reserved: float, cost: float | None) -> None:
        """Replace what was set aside by what the attempt did cost (None: not known)."""
        with self._lock:
            self._pending = max(0.0, self._pending - reserved)
            self.spent += reserved if cost is None else cost
            self.calls += cost != 0
