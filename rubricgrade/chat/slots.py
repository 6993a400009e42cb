"""How many calls to one place may be under way at once, over the whole process: its threads and event loops included.

A slot is given in the order of asking. Nothing here belongs to an event loop: a waiter is woken on its own loop, so one
limit holds while loops come and go.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from contextlib import AbstractAsyncContextManager


class Slots:
    """The slots of one place.

    Attributes:
        held: How many are in use now.
    """

    def __init__(self) -> None:
        self.held = 0
        self._lock = threading.Lock()
        self._waiting: deque[_Slot] = deque()
        self._holders: dict[asyncio.AbstractEventLoop, set[_Slot]] = {}

    def slot(self, limit: int) -> AbstractAsyncContextManager[None]:
        """Wait for a slot and hold it for the block.

        Args:
            limit: Calls that may be under way at this place when this one starts. Callers with different limits share
                the place; each keeps to its own.
        """
        return _Slot(self, limit)

    def take(self, slot: _Slot) -> asyncio.Future[None] | None:
        """Give a slot now, or when it is its turn. Call on its event loop.

        Returns:
            What is done when it has its turn; None: it has it.
        """
        with self._lock:
            if not self._waiting and self.held < slot.limit:
                self._hold(slot)
                return None
            slot.turn = slot.loop.create_future()
            self._waiting.append(slot)
            self._admit(slot.loop)
            return slot.turn

    def give(self, slot: _Slot) -> None:
        """Take a slot back, also one that is still waited for. Call on its event loop."""
        with self._lock:
            if slot in self._holders.get(slot.loop, ()):
                self._holders[slot.loop].discard(slot)
                self.held -= 1
            elif slot in self._waiting:
                self._waiting.remove(slot)
            self._admit(slot.loop)

    def _admit(self, here: asyncio.AbstractEventLoop) -> None:
        """Give free slots to those who have waited longest. Call with the lock held, on the loop named."""
        while self._waiting and self._has_room(self._waiting[0].limit):
            first = self._waiting.popleft()
            if first.loop is here:
                first.wake()
            else:
                try:
                    first.loop.call_soon_threadsafe(first.wake)
                except RuntimeError:
                    continue  # its loop was closed without ending its tasks: nobody is waiting any more
            self._hold(first)

    def _has_room(self, limit: int) -> bool:
        """Whether one more may start, also by taking back what a loop held that was closed without ending its tasks."""
        if self.held >= limit:
            for loop in [loop for loop in self._holders if loop.is_closed()]:
                self.held -= len(self._holders.pop(loop))
        return self.held < limit

    def _hold(self, slot: _Slot) -> None:
        self._holders.setdefault(slot.loop, set()).add(slot)
        self.held += 1


class _Slot(AbstractAsyncContextManager[None]):
    """A slot of some, from the asking to the end of the block; for one use."""

    __slots__ = ("limit", "loop", "slots", "turn")

    def __init__(self, slots: Slots, limit: int) -> None:
        self.slots = slots
        self.limit = limit
        self.loop: asyncio.AbstractEventLoop
        self.turn: asyncio.Future[None] | None = None

    async def __aenter__(self) -> None:
        self.loop = asyncio.get_running_loop()
        turn = self.slots.take(self)
        if turn is None:
            return
        try:
            await turn
        except BaseException:
            self.slots.give(self)
            raise

    async def __aexit__(self, *_: object) -> None:
        self.slots.give(self)

    def wake(self) -> None:
        """Say that it has its turn, if it still waits."""
        if self.turn is not None and not self.turn.done():
            self.turn.set_result(None)
