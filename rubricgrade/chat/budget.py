"""A cap on what calls may cost together: it stops before the call that is expected to pass it."""

from __future__ import annotations

import threading

from rubricgrade.chat.contract import AskFailed


class Budget:
    """Dollars that may be spent; shared by every call that is given it.

    Attributes:
        limit: US dollars.
        spent: US dollars, by what is known of finished calls. An attempt whose cost can't be known counts as expected.
        calls: Attempts that cost something.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.spent = 0.0
        self.calls = 0
        self._pending = 0.0
        self._lock = threading.Lock()

    def reserve(self, model: str, estimate: float | None) -> float:
        """Set aside what the next attempt is expected to cost; give it back with `settle`.

        Args:
            model: Named in the error.
            estimate: From the prompt's length and the model's price; None when the price is not known. Where calls
                have so far cost more on average, that counts instead.

        Returns:
            What was set aside.

        Raises:
            AskFailed: ``budget``: the attempt would pass the cap, or no price is known to keep it by.
        """
        if estimate is None:
            raise AskFailed(
                f"{model}: its price is not known, so a cap of ${self.limit:g} can't be kept. Give"
                " `input_cost_per_token` and `output_cost_per_token` (US dollars) in the judge's extra settings, or set"
                " no cap.",
                "budget",
            )
        with self._lock:
            expected = max(estimate, self.spent / self.calls if self.calls else 0.0)
            # Sums of floats: an exact fit must not fail by a rounding error.
            if self.spent + self._pending + expected > self.limit * (1 + 1e-9):
                raise AskFailed(
                    f"{model}: the cost cap of ${self.limit:g} is reached: ${self.spent:.4f} spent,"
                    f" ${self._pending:.4f} under way, and the next call is expected to cost ${expected:.4f}."
                    " Raise the cap to go on.",
                    "budget",
                )
            self._pending += expected
        return expected

    def settle(self, reserved: float, cost: float | None) -> None:
        """Replace what was set aside by what the attempt did cost (None: not known)."""
        with self._lock:
            self._pending = max(0.0, self._pending - reserved)
            self.spent += reserved if cost is None else cost
            self.calls += cost != 0
