"""Calling async code from hosts that are not async, in whatever thread and beside whatever event loop they call us."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def wait_for(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Do the work in a thread with an event loop of its own, and wait for it.

    Everything that the work opens is closed before this returns, so nothing outlives a fork of the host.
    """
    with ThreadPoolExecutor(1, "rubricgrade") as thread:
        return thread.submit(lambda: asyncio.run(work())).result()
