"""What was paid for is kept, however the work ends: no vote waits for a slower one, or for the end of its grade."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rubricgrade.chat.contract import Reply, Request
from rubricgrade.judge import Judged, JudgeOptions, Judging
from rubricgrade.store.verdicts import VerdictCache
from tests.chat.scripted import ScriptedServer, Seen, Wire, completion
from tests.cli.program import PROGRAM, environment, run, write_episode, write_rubric
from tests.judge.scripted import reply, rubric, said, trajectory

QUOTE = "The total is 48.2L."
SLOW = "criterion 0"
WAIT = 30.0


class SlowAt:
    """Says yes, but never answers where a text is asked about, or a model is asked."""

    def __init__(self, is_slow: Callable[[Request], bool]) -> None:
        self.is_slow = is_slow
        self.answered = 0

    async def ask(self, request: Request) -> Reply:
        if self.is_slow(request):
            await asyncio.sleep(3600)
        self.answered += 1
        return reply(said("yes", QUOTE))


async def until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT):
        while not happened():  # noqa: ASYNC110 - a thread or another process makes it happen
            await asyncio.sleep(0.01)


def begun(cache: VerdictCache, chat: SlowAt, model: str = "m") -> asyncio.Task[list[Judged]]:
    """A grade of four criteria under way."""
    asked = rubric(*({"id": f"c{n}", "description": f"criterion {n}"} for n in range(4)))
    judging = Judging(trajectory(), asked, JudgeOptions(model=model), chat=chat, verdicts=cache)

    async def all_of_it() -> list[Judged]:
        return list(await asyncio.gather(*(judging.decide(top) for top in reversed(asked.tops))))

    return asyncio.create_task(all_of_it())


def test_votes_are_kept_while_their_grade_waits_for_the_slowest_one(tmp_path: Path) -> None:
    cache = VerdictCache(tmp_path / "v.sqlite")
    chat = SlowAt(lambda request: SLOW in request.messages[2]["content"])

    async def main() -> None:
        grade = begun(cache, chat)
        await until(lambda: cache.info().entries == 3)
        assert not grade.done()
        grade.cancel()

    asyncio.run(main())


def test_a_vote_does_not_wait_for_another_model_of_the_panel(tmp_path: Path) -> None:
    cache = VerdictCache(tmp_path / "v.sqlite")
    chat = SlowAt(lambda request: request.model == "slow")

    async def main() -> None:
        grade = begun(cache, chat, "quick,slow")
        await until(lambda: cache.info().models == {"quick": 4})
        assert not grade.done()
        grade.cancel()

    asyncio.run(main())


def test_votes_that_came_just_before_the_end_are_kept(tmp_path: Path) -> None:
    cache = VerdictCache(tmp_path / "v.sqlite")
    chat = SlowAt(lambda request: SLOW in request.messages[2]["content"])

    async def main() -> None:
        grade = begun(cache, chat)
        await until(lambda: chat.answered == 3)
        grade.cancel()
        with pytest.raises(asyncio.CancelledError):
            await grade

    asyncio.run(main())
    assert cache.info().entries == 3


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    running = ScriptedServer()
    yield running
    running.close()


def answers(seen: Seen) -> Wire:
    return Wire(b"", hang=True) if SLOW in seen.body["messages"][2]["content"] else quick(seen)


def quick(_: Seen) -> Wire:
    verdict = {"reasoning": "so", "evidence": [{"where": "", "quote": "The total is 48.2 lakh."}], "answer": "yes"}
    return completion(json.dumps(verdict))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_program_asks_nothing_twice_after_it_was_ended(
    number: signal.Signals, tmp_path: Path, server: ScriptedServer
) -> None:
    server.script = [answers]
    lines = [json.dumps({"id": f"c{n}", "points": 1, "description": f"criterion {n}", "judge": {}}) for n in (2, 1, 0)]
    rubric_file = write_rubric(tmp_path / "r", criteria=lines)
    episodes = [write_episode(tmp_path / name) for name in ("a", "b", "c")]
    cache = VerdictCache(tmp_path / "v.sqlite")
    options = ["--judge", "openai/m", "--api-base", server.base, "--cache", cache.path, "--no-store", "--json"]
    arguments = ["grade", rubric_file, *episodes, *options]
    key = {"OPENAI_API_KEY": "sk-of-a-test"}
    command = [PROGRAM, *map(str, arguments)]
    with subprocess.Popen(command, env=environment(**key), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        try:
            asyncio.run(until(lambda: len(server.seen) == 9 and cache.info().entries == 6))
            program.send_signal(number)
            program.communicate(timeout=WAIT)
        finally:
            program.kill()
    server.seen.clear()
    server.script = [quick]
    assert run(*arguments, env=key).json["summary"]["graded"] == 3
    assert len(server.seen) == 3
    assert all(SLOW in seen.body["messages"][2]["content"] for seen in server.seen)
