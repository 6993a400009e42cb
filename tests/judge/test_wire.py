"""The judge over a real HTTP connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.chat import connect
from rubricgrade.judge import Judged, JudgeOptions, Judging
from rubricgrade.store.verdicts import VerdictCache
from tests.chat.scripted import ScriptedServer, Seen, Wire, completion, error
from tests.chat.test_wire import ANTHROPIC, wire
from tests.judge.scripted import rubric, said, trajectory

YES = said("yes", "The total is 48.2L.", where="[3].text")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    yield server
    server.close()


def grade(server: ScriptedServer, count: int = 1, cache: VerdictCache | None = None, **options: Any) -> list[Judged]:
    given: dict[str, Any] = {"model": "openai/some-judge", "api_base": server.base, "api_key": "k", **options}
    settings = JudgeOptions(**given)
    asked = rubric(*({"id": f"c{number}", "description": f"criterion {number}"} for number in range(count)))

    async def run() -> list[Judged]:
        judging = Judging(trajectory(), asked, settings, chat=connect(settings), verdicts=cache)
        return list(await asyncio.gather(*(judging.decide(top) for top in asked.tops)))

    return asyncio.run(run())


def test_a_verdict(server: ScriptedServer) -> None:
    server.script = [completion(YES)]
    (judged,) = grade(server)
    assert (judged.verdict, judged.value) == ("met", 1.0)
    assert judged.record.usage.calls == 1
    assert judged.record.usage.input_tokens == 100
    body = server.seen[0].body
    assert [message["role"] for message in body["messages"]] == ["system", "user", "user"]
    assert list(body["response_format"]["json_schema"]["schema"]["properties"]) == ["reasoning", "evidence", "answer"]
    assert "cache" not in json.dumps([list(message) for message in body["messages"]])
    assert "temperature" not in body


def test_ten_criteria_share_a_prefix_and_the_first_goes_alone(server: ScriptedServer) -> None:
    running: list[int] = []

    def answer(seen: Seen) -> Wire:
        running.append(server.now)
        return Wire(completion(YES).body, delay=0.05)

    server.script = [answer]
    assert {judged.verdict for judged in grade(server, 10, concurrency=4)} == {"met"}
    assert running[0] == 1
    assert server.peak == 4
    assert len({json.dumps(seen.body["messages"][:2]) for seen in server.seen}) == 1
    assert len({seen.body["messages"][2]["content"] for seen in server.seen}) == 10


def test_the_others_come_when_the_reply_to_the_first_begins(server: ScriptedServer) -> None:
    server.script = [replace(completion(YES), held_for=4), completion(YES)]
    assert {judged.verdict for judged in grade(server, 10, concurrency=4)} == {"met"}
    assert len(server.seen) == 10, "the first was given up and asked again"


def test_by_way_of_litellm_too(server: ScriptedServer) -> None:
    yes = wire({**ANTHROPIC, "content": [{"type": "text", "text": YES}]})
    server.script = [replace(yes, held_for=4), yes]
    judged = grade(server, 10, concurrency=4, model="anthropic/claude-sonnet-4-5", api_base=server.origin)
    assert {one.verdict for one in judged} == {"met"}
    assert len(server.seen) == 10, "the first was given up and asked again"
    assert {seen.path for seen in server.seen} == {"/v1/messages"}


def test_an_error_is_no_beginning(server: ScriptedServer) -> None:
    held: list[int] = []

    def second(_: Seen) -> Wire:
        held.append(len(server.seen))
        return Wire(completion(YES).body, delay=0.05)

    server.script = [error(500), second, completion(YES)]
    assert {judged.verdict for judged in grade(server, 4)} == {"met"}
    assert held == [2]
    assert len({seen.body["messages"][2]["content"] for seen in server.seen[:2]}) == 1


def test_bad_replies_are_repaired_over_the_wire(server: ScriptedServer) -> None:
    server.script = [
        completion("the answer is yes"),
        completion('{"reasoning": "cut', finish="length"),
        completion(said("yes", "a quote that is nowhere")),
        completion(YES),
    ]
    (judged,) = grade(server)
    assert judged.verdict == "met"
    assert judged.record.usage.calls == 4
    assert judged.record.usage.output_tokens == 40


@pytest.mark.parametrize(
    ("wire", "cause"),
    [
        (error(401, "bad key"), "judge_failed"),
        (completion(None, message={"refusal": "I can't help with that."}), "judge_failed"),
        (completion("", finish="content_filter"), "judge_failed"),
        (completion("None"), "judge_unparseable"),
        (completion("", finish="length"), "judge_unparseable"),
    ],
)
def test_what_never_gets_better_is_open_and_not_zero(server: ScriptedServer, wire: Wire, cause: str) -> None:
    server.script = [wire]
    (judged,) = grade(server)
    assert (judged.verdict, judged.value, judged.cause) == ("error", None, cause)
    assert judged.message


def test_a_second_run_sends_nothing(server: ScriptedServer, tmp_path: Path) -> None:
    server.script = [completion(YES)]
    cache = VerdictCache(tmp_path / "v.sqlite")
    first = grade(server, 5, cache)
    again = grade(server, 5, cache)
    assert len(server.seen) == 5
    assert [judged.evidence for judged in again] == [judged.evidence for judged in first]
    assert len(grade(server, 6, cache)) == 6
    assert len(server.seen) == 6
