from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from rubricgrade.chat.place import place_of
from rubricgrade.chat.slots import Slots
from tests.chat.asking import open_chat, question
from tests.chat.scripted import ScriptedServer, completion


def test_one_limit_for_several_grades_threads_and_loops(server: ScriptedServer) -> None:
    server.script = [replace(completion(), delay=0.02)]

    async def many() -> None:
        chat = open_chat(server.base, concurrency=4)
        await asyncio.gather(*(chat.ask(question()) for _ in range(10)))

    def run() -> None:
        asyncio.run(many())
        asyncio.run(many())

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(server.seen) == 60
    assert 2 <= server.peak <= 4


def test_calls_do_run_side_by_side(server: ScriptedServer) -> None:
    server.script = [replace(completion(), delay=0.2)]

    async def many() -> None:
        chat = open_chat(server.base, concurrency=10)
        await asyncio.gather(*(chat.ask(question()) for _ in range(20)))

    asyncio.run(many())
    assert server.peak == 10


async def taking(slots: Slots, name: str, order: list[str], done: asyncio.Event, limit: int = 1) -> None:
    async with slots.slot(limit):
        order.append(name)
        await done.wait()


def test_first_come_first_served() -> None:
    async def main() -> list[str]:
        slots, order, done = Slots(), list[str](), asyncio.Event()
        tasks = [asyncio.create_task(taking(slots, name, order, done)) for name in "abcde"]
        await asyncio.sleep(0)
        done.set()
        await asyncio.gather(*tasks)
        return order

    assert asyncio.run(main()) == list("abcde")


@pytest.mark.parametrize("victim", [0, 1])
def test_cancellation_frees_the_slot_and_the_place_in_the_queue(victim: int) -> None:
    async def main() -> None:
        slots, order, done = Slots(), list[str](), asyncio.Event()
        tasks = [asyncio.create_task(taking(slots, name, order, done)) for name in "abc"]
        for _ in range(10):
            await asyncio.sleep(0)
        assert order == ["a"]
        tasks[victim].cancel()
        done.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert order == (["a", "b", "c"] if victim == 0 else ["a", "c"])
        assert slots.held == 0

    asyncio.run(main())


def test_a_waiter_keeps_to_its_own_limit() -> None:
    async def main() -> None:
        slots, order, done = Slots(), list[str](), asyncio.Event()
        tasks = [asyncio.create_task(taking(slots, str(n), order, done, limit=3)) for n in range(4)]
        small = asyncio.create_task(taking(slots, "small", order, done, limit=1))
        for _ in range(10):
            await asyncio.sleep(0)
        assert order == ["0", "1", "2"]
        done.set()
        await asyncio.gather(*tasks, small)
        assert order[-1] == "small"

    asyncio.run(main())


def test_a_loop_that_is_abandoned_gives_its_slots_back() -> None:
    slots = Slots()
    lost = asyncio.new_event_loop()
    holding = slots.slot(1)
    lost.run_until_complete(holding.__aenter__())
    lost.close()

    async def main() -> int:
        async with slots.slot(1):
            return slots.held

    assert asyncio.run(main()) == 1
    assert slots.held == 0


def test_places_are_apart_and_shared_by_name() -> None:
    assert place_of("https://a.test") is place_of("https://a.test")
    assert place_of("https://a.test") is not place_of("https://b.test")


FORK = """
import asyncio, os
from rubricgrade.chat.place import place_of

async def once():
    async with asyncio.timeout(20), place_of("x").call("judge", 1):
        pass

async def hold():
    async with place_of("x").call("judge", 1):
        pid = os.fork()
        if pid == 0:
            asyncio.set_event_loop(None)
            asyncio._set_running_loop(None)
            asyncio.run(once())
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7

asyncio.run(hold())
"""


def test_a_forked_child_starts_with_free_slots() -> None:
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
