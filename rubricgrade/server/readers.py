"""The threads that read requests: parse, unpack, check rubrics. Few, so that hostile requests leave the CPU to others.

Nobody waits for one past the deadline. A thread can't be ended, so what a late one works with is held until it is done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any, TypeVar

from rubricgrade.server.refusing import Refused
from rubricgrade.server.scratch import Scratch

T = TypeVar("T")

THREADS = 4
LONGEST_END = 20
"""Seconds that a server which stops waits for threads that nobody waits for any more."""


class TooLate(Refused):
    """A request that could not be read in the time that it has; nothing was graded."""

    def __init__(self) -> None:
        message = "the request could not be read in the time that it has; nothing was graded"
        super().__init__(HTTPStatus.SERVICE_UNAVAILABLE, "late", message, {"retry-after": "1"})


class Readers:
    """See the module's text."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="reader")
        self._busy: set[asyncio.Future[Any]] = set()

    async def read(self, work: Callable[[], T], scratch: Scratch, until: float) -> T:
        """The result of reading a request, or a part of it.

        Args:
            work: Done in a thread, if one is free in time.
            scratch: Held until it is done.
            until: The event loop's time by which it has to be.

        Raises:
            TooLate: It is not.
        """
        begun = self._threads.submit(work)
        done = asyncio.wrap_future(begun)
        scratch.hold()
        self._busy.add(done)
        done.add_done_callback(lambda _: scratch.release())
        done.add_done_callback(self._left)
        try:
            async with asyncio.timeout_at(until):
                return await asyncio.shield(done)
        except TimeoutError:
            raise TooLate from None
        finally:
            # What has not begun never does.
            begun.cancel()

    async def closed(self) -> None:
        """Wait for what nobody waits for any more; not for ever."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._busy:
            await asyncio.wait(self._busy, timeout=LONGEST_END)

    def _left(self, done: asyncio.Future[Any]) -> None:
        self._busy.discard(done)
        if not done.cancelled():
            # Also of what came too late, whose error is nobody's any more.
            done.exception()
