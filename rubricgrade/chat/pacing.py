"""How many calls may start in a minute. They are kept apart instead of being counted, so there is never a burst."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from rubricgrade.chat.slots import Slots

SLACK = 1.0
"""Seconds by which one request may be longer on its way than another, and who is called still sees no more a minute."""


def gap(per_minute: float) -> float:
    """Seconds from one start to the next: a little more than a minute's share, see `SLACK`."""
    return (60.0 + SLACK) / per_minute


class Pace:
    """The starts of calls, over all threads and event loops that share this."""

    def __init__(self) -> None:
        self._gate = Slots()
        self._latest: float | None = None

    @asynccontextmanager
    async def start(self, per_minute: float) -> AsyncGenerator[None]:
        """Wait, in the order of asking, until a call may start. Leaving the block is its start.

        Whoever stops waiting, or leaves the block with an exception, has started nothing and costs the others no time.

        Args:
            per_minute: Calls in a minute. Of callers with different paces each keeps its own distance from the start
                before it.
        """
        async with self._gate.slot(1):
            if self._latest is not None:
                await asyncio.sleep(max(0.0, self._latest + gap(per_minute) - time.monotonic()))
            yield
            self._latest = time.monotonic()
