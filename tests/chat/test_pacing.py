"""Calls a minute, as the model's server sees them."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time

import pytest

from rubricgrade.chat.pacing import SLACK, Pace, gap
from rubricgrade.chat.place import Places
from tests.chat.asking import attempt, open_chat, question
from tests.chat.scripted import ON_ITS_WAY, ScriptedServer, Seen, Wire, completion, error, spread


def apart(times: list[float]) -> list[float]:
    return [later - earlier for earlier, later in itertools.pairwise(times)]


async def starting(pace: Pace, starts: list[float], per_minute: float = 1200) -> None:
    async with pace.start(per_minute):
        starts.append(time.monotonic())


def test_a_minute_has_no_more_than_was_allowed_even_if_requests_are_not_equally_quick() -> None:
    assert gap(60) * 60 == 60 + SLACK
    assert gap(0.5) == 2 * (60 + SLACK)


def test_the_first_waits_for_nothing_and_the_others_for_their_turn() -> None:
    async def main() -> list[float]:
        pace, starts = Pace(), list[float]()
        await starting(pace, starts, per_minute=0.01)
        await asyncio.gather(*(starting(pace, starts) for _ in range(4)))
        return starts

    starts = asyncio.run(main())
    assert min(apart(starts)) >= gap(1200) - 0.005


def test_a_loop_that_was_held_up_makes_no_burst_of_what_waited() -> None:
    async def main() -> list[float]:
        pace, starts = Pace(), list[float]()
        waiting = asyncio.gather(*(starting(pace, starts) for _ in range(5)))
        await asyncio.sleep(0)
        time.sleep(0.3)  # noqa: ASYNC251 - the loop is to be held up
        await waiting
        return starts

    starts = asyncio.run(main())
    assert len(starts) == 5
    assert min(apart(starts)) >= gap(1200) - 0.005


def test_who_stops_waiting_costs_the_others_no_time() -> None:
    async def main() -> list[float]:
        pace, starts = Pace(), list[float]()
        await starting(pace, starts)
        leaving = [asyncio.create_task(starting(pace, starts, per_minute=0.01)) for _ in range(50)]
        last = asyncio.create_task(starting(pace, starts))
        await asyncio.sleep(0.01)
        for task in leaving:
            task.cancel()
        await asyncio.gather(*leaving, return_exceptions=True)
        # Fifty turns would take days.
        await asyncio.wait_for(last, 60)
        return starts

    assert len(asyncio.run(main())) == 2


def test_one_pace_for_several_threads_and_loops() -> None:
    pace, starts = Pace(), list[float]()

    async def some() -> None:
        await asyncio.gather(*(starting(pace, starts) for _ in range(3)))

    threads = [threading.Thread(target=asyncio.run, args=[some()]) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(starts) == 9
    assert min(apart(sorted(starts))) >= gap(1200) - 0.005


def test_who_waits_for_a_turn_keeps_no_slot_from_others() -> None:
    async def main() -> list[str]:
        places, done = Places(), list[str]()

        async def call(name: str, per_minute: float | None) -> None:
            async with places.call(attempt("judge" if per_minute else "agent", 2, per_minute)):
                done.append(name)

        await call("first", 0.01)
        paced = [asyncio.create_task(call("never", 0.01)) for _ in range(5)]
        await asyncio.sleep(0.01)
        await asyncio.wait_for(asyncio.gather(*(call("agent", None) for _ in range(5))), 60)
        for task in paced:
            task.cancel()
        return done

    assert asyncio.run(main()) == ["first", *["agent"] * 5]


def test_judge_and_agent_have_a_pace_each() -> None:
    async def main() -> list[str]:
        places, begun = Places(), list[str]()
        for purpose in ("judge", "agent"):
            async with asyncio.timeout(60), places.call(attempt(purpose, 1, 0.01)):
                begun.append(purpose)
        return begun

    assert asyncio.run(main()) == ["judge", "agent"]


@pytest.mark.parametrize("concurrency", [1, 40])
def test_every_attempt_on_the_wire_counts(server: ScriptedServer, concurrency: int) -> None:
    failing = itertools.cycle([error(500), error(429), completion()])

    def answer(_: Seen) -> Wire:
        return next(failing)

    server.script = [answer]
    rpm = 1800

    async def main() -> None:
        chat = open_chat(server.base, concurrency=concurrency, per_minute=rpm)
        await asyncio.gather(*(chat.ask(question()) for _ in range(20)), return_exceptions=True)

    asyncio.run(main())
    assert len(server.seen) >= 40
    times = [seen.at for seen in server.seen]
    for first, last in itertools.combinations(range(len(times)), 2):
        # In no stretch of time more than its share, as far as requests are equally long on their way.
        assert times[last] - times[first] >= (last - first) * 60 / rpm - SLACK
    # Without a pace they take a tenth of that.
    assert spread(server) >= (len(times) - 1) * 60 / rpm - SLACK


class TestTokens:
    def test_calls_are_as_far_apart_as_their_tokens_take(self) -> None:
        async def main() -> list[float]:
            pace, starts = Pace(), list[float]()
            for load in (0.1, 0.3, 0.05, 0.05):
                async with pace.start(None, load):
                    starts.append(time.monotonic())
            return starts

        for found, least in zip(apart(asyncio.run(main())), (0.1, 0.3, 0.05), strict=True):
            assert found >= least

    def test_what_was_not_taken_is_given_back(self) -> None:
        async def main() -> None:
            pace = Pace()
            async with pace.start(None, 3600.0):
                pass
            waiting = asyncio.create_task(self._start(pace))
            await asyncio.sleep(0.01)
            assert not waiting.done()
            pace.correct(-3600.0)
            await asyncio.wait_for(waiting, 60)

        asyncio.run(main())

    async def _start(self, pace: Pace) -> None:
        async with pace.start(None, 1.0):
            pass

    def test_who_has_none_waits_for_none(self) -> None:
        async def main() -> list[float]:
            pace, starts = Pace(), list[float]()
            async with pace.start(None, 3600.0):
                pass
            await asyncio.wait_for(starting(pace, starts, per_minute=6000), 60)
            return starts

        assert len(asyncio.run(main())) == 1

    def test_on_the_wire_what_was_counted_counts(self, server: ScriptedServer) -> None:
        server.script = [completion(usage={"prompt_tokens": 1, "completion_tokens": 1})]
        # By what is expected of each, 4,000 tokens and more, the second would be twenty minutes behind the first.
        asked = open_chat(server.base, tokens_per_minute=200)

        async def main() -> None:
            async with asyncio.timeout(60):
                for _ in range(2):
                    await asked.ask(question(max_tokens=4000))

        asyncio.run(main())
        assert spread(server) >= gap(200) * 2 - ON_ITS_WAY

    def test_a_call_of_unknown_size_takes_what_was_expected(self, server: ScriptedServer) -> None:
        server.script = [completion(usage={"prompt_tokens": None})]
        asked = open_chat(server.base, tokens_per_minute=60_000)

        async def main() -> None:
            for _ in range(2):
                await asked.ask(question(max_tokens=1000))

        asyncio.run(main())
        assert spread(server) >= gap(60_000) * 1000 - ON_ITS_WAY
