"""Running several things at once: results in order, the first error ends the others and is raised as itself."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def together(work: Iterable[Coroutine[Any, Any, T]]) -> tuple[T, ...]:
    """Run all of them at once.

    Returns:
        Their results, in the order given.

    Raises:
        BaseException: The first error of any; the others have then been cancelled and have ended.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return tuple(task.result() for task in tasks)
