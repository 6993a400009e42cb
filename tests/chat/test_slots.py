from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from rubricgrade.chat import Ask
from rubricgrade.chat.place import Places
from rubricgrade.chat.slots import Slots
from tests.chat.asking import attempt, open_chat, question
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


def test_places_have_their_slots_apart_and_those_of_a_purpose_together() -> None:
    async def main() -> list[str]:
        places, begun, done = Places(), list[str](), asyncio.Event()

        async def call(name: str, asked: Ask) -> None:
            async with places.call(asked):
                begun.append(name)
                await done.wait()

        asked = {
            "one": attempt(limit=1, total=2, place="a"),
            "its place is busy": attempt(limit=1, total=2, place="a"),
            "another place": attempt(limit=1, total=2, place="b"),
            "too many in all": attempt(limit=1, total=2, place="c"),
            "for something else": attempt("agent", limit=1, total=2, place="d"),
        }
        tasks = [asyncio.create_task(call(name, ask)) for name, ask in asked.items()]
        for _ in range(20):
            await asyncio.sleep(0)
        first = [*begun]
        done.set()
        await asyncio.gather(*tasks)
        assert {*begun} == {*asked}
        return first

    assert asyncio.run(main()) == ["one", "another place", "for something else"]


def test_who_gives_up_waiting_for_the_total_frees_the_place() -> None:
    async def main() -> list[str]:
        places, begun = Places(), list[str]()

        async def call(name: str) -> None:
            async with places.call(attempt(total=1, place="b")):
                begun.append(name)

        async with places.call(attempt(total=1, place="a")):
            waiting = asyncio.create_task(call("gave up"))
            await asyncio.sleep(0)
            assert not waiting.done()
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        await asyncio.wait_for(call("next"), 60)
        return begun

    assert asyncio.run(main()) == ["next"]


def test_a_panel_of_two_providers_keeps_one_limit_and_each_its_own(server: ScriptedServer) -> None:
    server.script = [replace(completion(), delay=0.1)]

    async def peak(**limits: int) -> int:
        server.peak = 0
        bases = (server.base, server.base.replace("127.0.0.1", "localhost"))
        chats = [open_chat(base, **limits) for base in bases]
        await asyncio.gather(*(chat.ask(question()) for chat in chats for _ in range(12)))
        return server.peak

    assert asyncio.run(peak(concurrency=4)) == 4
    assert asyncio.run(peak(concurrency=12, per_provider=3)) == 6


FORK = """
import asyncio, os
from rubricgrade.chat.place import places
from tests.chat.asking import attempt

async def once():
    async with asyncio.timeout(20), places().call(attempt()):
        pass

async def hold():
    async with places().call(attempt()):
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
