"""Things that belong to one event loop: made once per process and loop, on first use, and ended when the loop is."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")
_Key = tuple[int, asyncio.AbstractEventLoop]


class PerLoop(Generic[T]):
    """One thing per process and event loop."""

    def __init__(self, make: Callable[[], T], end: Callable[[T], Awaitable[None]]) -> None:
        self._make = make
        self._end = end
        self._things: dict[_Key, tuple[T, AsyncGenerator[None]]] = {}

    async def get(self) -> T:
        """The running loop's thing."""
        key = (os.getpid(), asyncio.get_running_loop())
        if key not in self._things:
            # What a parent process made is left alone: closing it here would disturb the parent's sockets.
            for stale in [other for other in list(self._things) if other[0] == key[0] and other[1].is_closed()]:
                self._things.pop(stale, None)
            thing = self._make()
            keeper = self._until_the_loop_ends(key, thing)
            self._things[key] = thing, keeper
            await anext(keeper)
        return self._things[key][0]

    async def _until_the_loop_ends(self, key: _Key, thing: T) -> AsyncGenerator[None]:
        """Park. A loop that is shut down closes the generators that were started on it, so also this one."""
        try:
            yield
        finally:
            self._things.pop(key, None)
            await self._end(thing)
