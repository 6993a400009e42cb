"""Writing in a thread, several things at once: what comes in soon after a write goes with the next one."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

MOST = 128
"""Things that are written at once: more save nothing, and what a thread once took it keeps until it ends."""
PAUSE = 0.1
"""Seconds from the beginning of a write to that of the next one, unless `MOST` are waiting before."""

T = TypeVar("T")
Write = Callable[[Sequence[T]], Sequence[Exception | None]]
"""Writes some things; for each of them, in order, what went wrong, or None."""


@dataclass(slots=True)
class _Queue(Generic[T]):
    """What waits to be written on one event loop, and the task that sees to it."""

    waiting: list[tuple[T, asyncio.Future[Exception | None]]] = field(
        default_factory=list[tuple[T, "asyncio.Future[Exception | None]"]]
    )
    task: asyncio.Task[None] | None = None
    begun: float = -math.inf
    # One thread for all of it: what each of many once took for its largest batch, all of them would keep.
    thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "verdict cache"))


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
        queue = self._queues.setdefault(loop, _Queue())
        written: asyncio.Future[Exception | None] = loop.create_future()
        queue.waiting.append((thing, written))
        if queue.task is None:
            queue.task = loop.create_task(_work_off(queue, write))
        return written


async def _work_off(queue: _Queue[T], write: Write[T]) -> None:
    loop = asyncio.get_running_loop()
    try:
        while queue.waiting:
            if len(queue.waiting) < MOST:
                await asyncio.sleep(queue.begun + PAUSE - loop.time())
            queue.begun = loop.time()
            batch, queue.waiting = queue.waiting[:MOST], queue.waiting[MOST:]
            # Shielded, or a write that waits for a thread would be dropped when the event loop ends.
            writing = loop.run_in_executor(queue.thread, write, [thing for thing, _ in batch])
            try:
                faults = await asyncio.shield(writing)
            except Exception as error:  # noqa: BLE001 - told to whoever waits
                faults = [error] * len(batch)
            for (_, written), fault in zip(batch, faults, strict=True):
                if not written.done():
                    written.set_result(fault)
    except asyncio.CancelledError:
        # The event loop is ending, and nobody hears of faults any more. What was begun is waited for.
        queue.thread.shutdown()
        while queue.waiting:
            batch, queue.waiting = queue.waiting[:MOST], queue.waiting[MOST:]
            write([thing for thing, _ in batch])
        raise
    finally:
        queue.task = None
