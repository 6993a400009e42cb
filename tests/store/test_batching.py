"""Writing in a thread, several things at once."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rubricgrade.store.batching import MOST, PAUSE, Batching
from rubricgrade.store.recorded import Verdict
from rubricgrade.store.verdicts import Kept, VerdictCache


class Written:
    """Remembers batches; the first one waits until it is let go, and what is below 0 can't be written."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.threads: set[int] = set()
        self.go = threading.Event()

    def __call__(self, things: Sequence[int]) -> list[Exception | None]:
        self.go.wait(30)
        self.batches.append(list(things))
        self.threads.add(threading.get_ident())
        return [ValueError(str(thing)) if thing < 0 else None for thing in things]


async def put(batching: Batching[int], number: int, written: Written) -> None:
    await batching.put(number, written)


def test_what_comes_in_meanwhile_is_written_at_once() -> None:
    written = Written()

    async def main() -> None:
        batching = Batching[int]()
        first = batching.put(0, written)
        await asyncio.sleep(0)
        others = [batching.put(number, written) for number in range(1, 200)]
        await asyncio.sleep(0)
        assert written.batches == []
        written.go.set()
        await asyncio.gather(first, *others)

    asyncio.run(main())
    assert [number for batch in written.batches for number in batch] == list(range(200))
    assert len(written.batches) <= 200 // MOST + 2
    assert max(map(len, written.batches)) == MOST
    assert threading.get_ident() not in written.threads


def test_what_comes_in_soon_after_a_write_is_written_together() -> None:
    written = Written()
    written.go.set()

    async def main() -> None:
        batching = Batching[int]()
        await batching.put(0, written)
        later = [batching.put(1, written)]
        await asyncio.sleep(PAUSE / 20)
        later.append(batching.put(2, written))
        await asyncio.gather(*later)

    asyncio.run(main())
    assert written.batches == [[0], [1, 2]]


def test_what_still_waits_when_the_event_loop_ends_is_written() -> None:
    written = Written()
    written.go.set()
    batching = Batching[int]()

    async def main() -> None:
        await batching.put(0, written)
        waiting = [batching.put(number, written) for number in (1, 2)]
        await asyncio.sleep(0)
        assert not any(each.done() for each in waiting)

    asyncio.run(main())
    assert written.batches == [[0], [1, 2]]


def test_what_is_put_at_the_very_end_is_written() -> None:
    written = Written()
    written.go.set()
    batching = Batching[int]()

    async def main() -> None:
        batching.put(1, written)

    asyncio.run(main())
    assert written.batches == [[1]]


def test_a_write_that_is_under_way_when_the_event_loop_ends_is_waited_for() -> None:
    written = Written()
    batching = Batching[int]()

    async def main() -> None:
        first = batching.put(1, written)
        for _ in range(10):
            await asyncio.sleep(0)
        later = batching.put(2, written)
        assert not first.done()
        assert not later.done()
        threading.Timer(0.05, written.go.set).start()

    asyncio.run(main())
    assert written.batches == [[1], [2]]


def test_who_waits_is_told_and_more_can_be_written_after_everything_was_cancelled() -> None:
    written = Written()
    batching = Batching[int]()

    async def main() -> list[Exception | None]:
        begun = batching.put(1, written)
        for _ in range(10):
            await asyncio.sleep(0)
        waiting = batching.put(-2, written)
        threading.Timer(0.05, written.go.set).start()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        async with asyncio.timeout(60):
            return [await begun, await waiting, await batching.put(3, written)]

    one, two, three = asyncio.run(main())
    assert (one, str(two), three) == (None, "-2", None)
    assert written.batches == [[1], [-2], [3]]


def test_its_thread_ends_with_it() -> None:
    written = Written()
    written.go.set()
    for number in range(20):
        asyncio.run(put(Batching[int](), number, written))
    assert len(written.batches) == 20
    for thread in threading.enumerate():
        if thread.name.startswith("verdict cache"):
            thread.join(30)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("verdict cache")]


def test_each_hears_of_its_own_fault() -> None:
    written = Written()
    written.go.set()

    async def main() -> list[object]:
        batching = Batching[int]()
        return await asyncio.gather(*(batching.put(number, written) for number in (1, -2, 3)))

    one, two, three = asyncio.run(main())
    assert (one, str(two), three) == (None, "-2", None)


def test_a_defect_of_the_writer_reaches_everybody_and_ends_nothing() -> None:
    broken = True

    def write(things: Sequence[int]) -> list[Exception | None]:
        if broken:
            raise RuntimeError("a defect")
        return [None] * len(things)

    async def main() -> None:
        nonlocal broken
        batching = Batching[int]()
        found = await asyncio.gather(*(batching.put(number, write) for number in range(3)))
        assert [str(each) for each in found] == ["a defect"] * 3
        broken = False
        await batching.put(1, write)

    asyncio.run(main())


def test_one_that_gives_up_takes_nothing_from_the_others() -> None:
    written = Written()

    async def main() -> None:
        batching = Batching[int]()
        impatient, patient = (batching.put(number, written) for number in (1, 2))
        await asyncio.sleep(0)
        impatient.cancel()
        written.go.set()
        await patient
        with pytest.raises(asyncio.CancelledError):
            await impatient

    asyncio.run(main())
    assert written.batches == [[1, 2]]


def test_event_loops_come_and_go() -> None:
    written = Written()
    written.go.set()
    batching = Batching[int]()
    for number in range(3):
        asyncio.run(put(batching, number, written))
    assert written.batches == [[0], [1], [2]]


def test_event_loops_of_several_threads_at_once(tmp_path: Path) -> None:
    cache = VerdictCache(tmp_path / "v.sqlite")

    async def keep(thread: int) -> None:
        names = [f"{thread}-{number}" for number in range(MOST + 5)]
        verdicts = [Verdict(question=name, answer="yes", recorded_by="m", key=name) for name in names]
        await asyncio.gather(*(cache.keep_soon(Kept([verdict])) for verdict in verdicts))
        assert all(cache.get(name) for name in names)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda thread: asyncio.run(keep(thread)), range(4)))
    assert cache.info().entries == 4 * (MOST + 5)


def test_who_owns_one_is_not_kept_by_it() -> None:
    written = Written()
    written.go.set()
    batching = Batching[int]()
    asyncio.run(put(batching, 1, written))
    gone = weakref.ref(written)
    del written
    assert gone() is None
