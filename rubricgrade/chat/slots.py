"""How many calls to one place may be under way at once, over the whole process: its threads and event loops included.

A slot is given in the order of asking. Nothing here belongs to an event loop: a waiter is woken on its own loop, so one
limit holds while loops come and go.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class _Waiter:
    limit: int
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[None]


class Slots:
    """The slots of one place."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[_Waiter] = deque()
        self._held: dict[asyncio.AbstractEventLoop, set[_Waiter]] = {}

    @property
    def held(self) -> int:
        """Slots in use now."""
        return sum(map(len, self._held.values()))

    @asynccontextmanager
    async def slot(self, limit: int) -> AsyncGenerator[None]:
        """Wait for a slot and hold it.

        Args:
            limit: Calls that may be under way at this place when this one starts. Callers with different limits share
                the place; each keeps to its own.
        """
        loop = asyncio.get_running_loop()
        waiter = _Waiter(limit, loop, loop.create_future())
        with self._lock:
            self._waiting.append(waiter)
            self._admit(loop)
        try:
            await waiter.future
            yield
        finally:
            with self._lock:
                if waiter in self._held.get(loop, ()):
                    self._held[loop].discard(waiter)
                elif waiter in self._waiting:
                    self._waiting.remove(waiter)
                self._admit(loop)

    def _admit(self, here: asyncio.AbstractEventLoop) -> None:
        """Give free slots to those who have waited longest. Call with the lock held, on the loop named."""
        while self._waiting:
            first = self._waiting[0]
            if self.held >= first.limit:
                self._drop_lost()
                if self.held >= first.limit:
                    return
            self._waiting.popleft()
            if first.loop is here:
                _wake(first.future)
            else:
                try:
                    first.loop.call_soon_threadsafe(_wake, first.future)
                except RuntimeError:
                    continue  # its loop was closed without ending its tasks: nobody is waiting any more
            self._held.setdefault(first.loop, set()).add(first)

    def _drop_lost(self) -> None:
        """Forget loops that are closed, and take back what one held that was closed without ending its tasks."""
        for loop in [loop for loop in self._held if loop.is_closed()]:
            del self._held[loop]


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
