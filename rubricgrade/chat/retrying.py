"""When an attempt is made again, and when it is given up."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from rubricgrade.chat.faults import Fault


@dataclass(frozen=True, slots=True)
class Retry:
    """How patient an ask is.

    Attributes:
        retries: Attempts after the first; 0 makes none.
        first_wait: Seconds of the first back-off, which doubles each time and is drawn between half of it and all.
        longest_wait: The longest back-off. A server's own Retry-After may be longer and is kept to.
        total: Seconds that the attempts and the waits between them may take together. Waiting for a slot does not
            count. An attempt that has begun runs to its own timeout.
    """

    retries: int = 5
    first_wait: float = 0.5
    longest_wait: float = 30.0
    total: float = 600.0

    def wait(self, attempt: int, after: float | None) -> float:
        """Seconds to wait after the given attempt (from 1); never less than the server asked for."""
        back_off = min(self.longest_wait, self.first_wait * 2.0 ** (attempt - 1))
        spread = random.uniform(0.5, 1.0) * back_off  # noqa: S311 - spreads load, guards nothing
        # On top of a Retry-After a part of the back-off, so that those who were told the same don't come at once.
        return spread if after is None else after + spread / 2

    def loop(self, seconds_spent: Callable[[], float]) -> AsyncRetrying:
        """The retry loop of one ask.

        Args:
            seconds_spent: What the attempts so far took.
        """

        def give_up(state: RetryCallState) -> bool:
            if state.attempt_number > self.retries:
                return True
            return seconds_spent() + state.idle_for + state.upcoming_sleep > self.total

        return AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, Fault) and error.retried),
            wait=lambda state: self.wait(state.attempt_number, _asked_for(state)),
            stop=give_up,
            reraise=True,
        )


def _asked_for(state: RetryCallState) -> float | None:
    error = state.outcome.exception() if state.outcome else None
    return error.after if isinstance(error, Fault) else None
