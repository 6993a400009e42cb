"""Questions that are to be asked together wait here for each other: until nobody else is on the way, and no longer."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from rubricgrade.judge.asking import Cast

_TURNS = 12
"""Turns of the event loop without a newcomer after which nobody is waited for: tasks that are started together, inside
groups of groups, all come within a few."""

T = TypeVar("T")
Group = tuple[str, str, int, int, int]
"""View, model, number of the vote, how many are asked at once, and characters of room."""

Ask = Callable[[Group, Sequence[T]], Awaitable[Sequence[Cast]]]


@dataclass(slots=True, eq=False)
class _Waiter(Generic[T]):
    what: T
    rank: str
    ask: Ask[T]
    future: asyncio.Future[Cast]


@dataclass(slots=True)
class _Call:
    task: asyncio.Task[None] | None = None
    futures: list[asyncio.Future[Cast]] = field(default_factory=list[asyncio.Future[Cast]])


class Coming:
    """Those who are on the way, each for as long as a block of his lasts."""

    def __init__(self) -> None:
        self._count = 0
        self.nobody = asyncio.Event()
        self.nobody.set()

    def __enter__(self) -> None:
        self._count += 1
        self.nobody.clear()

    def __exit__(self, *_: object) -> None:
        self._count -= 1
        if not self._count:
            self.nobody.set()


class Gathering(Generic[T]):
    """Of one grade.

    Attributes:
        coming: Those for whom who is here waits.
    """

    def __init__(self) -> None:
        self.coming = Coming()
        self._waiting: defaultdict[Group, list[_Waiter[T]]] = defaultdict(list)
        self._calls: dict[asyncio.Future[Cast], _Call] = {}
        self._collecting: asyncio.Task[None] | None = None
        self._arrived = 0

    async def vote(self, group: Group, what: T, rank: str, ask: Ask[T]) -> Cast:
        """Wait for others of the group, and for the vote.

        Args:
            group: Who is asked together.
            what: The question.
            rank: A hash of it, so that who came first decides nothing.
            ask: Asks several at once; a vote for each, in order.
        """
        waiter = _Waiter(what, rank, ask, asyncio.get_running_loop().create_future())
        self._waiting[group].append(waiter)
        self._arrived += 1
        if self._collecting is None:
            self._collecting = asyncio.create_task(self._collect())
        try:
            return await waiter.future
        finally:
            call = self._calls.pop(waiter.future, None)
            waiter.future.cancel()
            if call is not None and call.task is not None and all(future.done() for future in call.futures):
                call.task.cancel()

    async def _collect(self) -> None:
        known = -1
        while known != self._arrived:
            known = self._arrived
            await self.coming.nobody.wait()
            for _ in range(_TURNS):
                await asyncio.sleep(0)
        waiting, self._waiting = self._waiting, defaultdict(list)
        self._collecting = None
        for group, waiters in waiting.items():
            for part in _parts(group, [each for each in waiters if not each.future.done()]):
                call = _Call(futures=[each.future for each in part])
                self._calls.update(dict.fromkeys(call.futures, call))
                call.task = asyncio.create_task(self._run(group, part))

    async def _run(self, group: Group, waiters: Sequence[_Waiter[T]]) -> None:
        try:
            casts = await waiters[0].ask(group, [waiter.what for waiter in waiters])
        except Exception as error:  # noqa: BLE001 - raised again where the votes are waited for
            for waiter in waiters:
                if not waiter.future.done():
                    waiter.future.set_exception(error)
            return
        for waiter, cast in zip(waiters, casts, strict=True):
            if not waiter.future.done():
                waiter.future.set_result(cast)


def _parts(group: Group, waiters: Sequence[_Waiter[T]]) -> list[list[_Waiter[T]]]:
    """In an order that depends on what is asked and on the vote only, in parts of about the same size."""
    ordered = sorted(waiters, key=lambda waiter: waiter.rank)
    random.Random(f"{group[0]} {group[2]}").shuffle(ordered)  # noqa: S311 - an order, not a secret
    count = -(-len(ordered) // group[3])
    return [ordered[number::count] for number in range(count)]
