"""How many calls, and of how many tokens, may start in a minute.

They are kept apart instead of being counted, so there is never a burst.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from rubricgrade.chat.slots import Slots

_LOOK_AGAIN = 0.25  # seconds
SLACK = 1.0
"""Seconds by which one request may be longer on its way than another, and who is called still sees no more a minute."""


def gap(per_minute: float) -> float:
    """Seconds from one start to the next, or for one token: a little more than a minute's share, see `SLACK`."""
    return (60.0 + SLACK) / per_minute


class Pace:
    """The starts of calls, over all threads and event loops that share this."""

    def __init__(self) -> None:
        self._gate = Slots()
        self._latest: float | None = None
        self._full_until = 0.0
        self._lock = threading.Lock()

    @asynccontextmanager
    async def start(self, per_minute: float | None, load: float = 0.0) -> AsyncGenerator[None]:
        """Wait, in the order of asking, until a call may start. Leaving the block is its start.

        Whoever stops waiting, or leaves the block with an exception, has started nothing and costs the others no time.

        Args:
            per_minute: Calls in a minute; None: any number. Of callers with different paces each keeps its own distance
                from the start before it.
            load: Seconds for which no other call with a load may start, as its tokens take so much of the minute.
        """
        async with self._gate.slot(1):
            if per_minute is not None and self._latest is not None:
                await asyncio.sleep(max(0.0, self._latest + gap(per_minute) - time.monotonic()))
            if load:
                await self._until_there_is_room()
            yield
            self._latest = time.monotonic()
            with self._lock:
                self._full_until = max(self._full_until, self._latest) + load

    async def _until_there_is_room(self) -> None:
        left = self._full_until - time.monotonic()
        while left > 0:
            # Not in one go: calls that end meanwhile may give some of it back.
            await asyncio.sleep(min(left, _LOOK_AGAIN))
            left = self._full_until - time.monotonic()

    def correct(self, seconds: float) -> None:
        """Add to the load of a call that has started: what it turned out to be more than was said; below 0, less."""
        with self._lock:
            self._full_until += seconds
