"""Writing in a thread, several things at once: what comes in soon after a write goes with the next one."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

MOST = 128
"""Things that are written at once: more save nothing, and what a thread once took it keeps until it ends."""
PAUSE = 0.1
"""Seconds from the beginning of a write to that of the next one, unless `MOST` are waiting before."""

T = TypeVar("T")
Write = Callable[[Sequence[T]], Sequence[Exception | None]]
"""Writes some things; for each of them, in order, what went wrong, or None."""
_Entry = tuple[T, "asyncio.Future[Exception | None]"]
"""A thing, and what is told of it."""


@dataclass(slots=True)
class _Queue(Generic[T]):
    """What waits to be written on one event loop, and the task that sees to it."""

    waiting: list[_Entry[T]] = field(default_factory=list["_Entry[T]"])
    task: asyncio.Task[None] | None = None
    begun: float = -math.inf
    under_way: tuple[list[_Entry[T]], Future[Sequence[Exception | None]]] | None = None
    # One thread for all of it: what each of many once took for its largest batch, all of them would keep.
    thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "verdict cache"))

    def next(self) -> list[_Entry[T]]:
        """Take out what is to be written next."""
        batch, self.waiting = self.waiting[:MOST], self.waiting[MOST:]
        return batch

    def settle(self) -> None:
        """Wait for what is under way, and tell of it."""
        if self.under_way is not None:
            batch, written = self.under_way
            self.under_way = None
            _tell(batch, written.result())


class Batching(Generic[T]):
    """Writes things for any number of event loops. Who owns one is held by it only while something is written."""

    def __init__(self) -> None:
        self._queues: WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue[T]] = WeakKeyDictionary()

    def put(self, thing: T, write: Write[T]) -> asyncio.Future[Exception | None]:
        """Have something written: soon, and also if nobody waits for it or the event loop ends before.

        Args:
            thing: To be written.
            write: Writes some things, in a thread; the same every time.

        Returns:
            What went wrong with it, once that is known; None if nothing did.
        """
        loop = asyncio.get_running_loop()
        queue = self._queues.get(loop) or self._queues.setdefault(loop, _Queue())
        written: asyncio.Future[Exception | None] = loop.create_future()
        queue.waiting.append((thing, written))
        if queue.task is None:
            queue.task = loop.create_task(_work_off(queue, write))
            queue.task.add_done_callback(partial(_leave_nothing, queue, write))
        return written


async def _work_off(queue: _Queue[T], write: Write[T]) -> None:
    loop = asyncio.get_running_loop()
    while queue.waiting:
        if len(queue.waiting) < MOST:
            await asyncio.sleep(queue.begun + PAUSE - loop.time())
        queue.begun = loop.time()
        batch = queue.next()
        written = queue.thread.submit(_written, batch, write)
        queue.under_way = batch, written
        await asyncio.wait([asyncio.wrap_future(written)])
        queue.settle()
    queue.task = None


def _leave_nothing(queue: _Queue[T], write: Write[T], task: asyncio.Task[None]) -> None:
    """If the work was cut off, most likely because the event loop ends, write all the same what is there."""
    if queue.task is not task:
        return
    queue.task = None
    queue.settle()
    while queue.waiting:
        batch = queue.next()
        _tell(batch, _written(batch, write))


def _written(batch: Sequence[_Entry[T]], write: Write[T]) -> Sequence[Exception | None]:
    try:
        return write([thing for thing, _ in batch])
    except Exception as error:  # noqa: BLE001 - told to whoever waits
        return [error] * len(batch)


def _tell(batch: Sequence[_Entry[T]], faults: Sequence[Exception | None]) -> None:
    for (_, written), fault in zip(batch, faults, strict=True):
        if not written.done():
            written.set_result(fault)
