"""`grade` and `grade_all`: the same calls from code that is not async, also inside a running event loop."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from rubricgrade.grading.engine import agrade
from rubricgrade.grading.many import agrade_all

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(function: Callable[P, Coroutine[Any, Any, T]], name: str) -> Callable[P, T]:
    """The same function for code that is not async.

    Works in a plain program, in a worker thread, after a fork, and inside a running event loop (a notebook), where it
    blocks that loop: there, awaiting the async one is the better call.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(function(*args, **kwargs))
        return _in_thread(lambda: asyncio.run(function(*args, **kwargs)))

    call.__name__ = call.__qualname__ = name
    return call


def _in_thread(work: Callable[[], T]) -> T:
    result: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            result.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,), name="rubricgrade")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return result[0]


grade = _blocking(agrade, "grade")
grade_all = _blocking(agrade_all, "grade_all")
