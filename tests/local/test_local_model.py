"""A rubric judged by a real model in this process, from end to end. Plumbing only: one of 135M answers by chance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rubricgrade import Grade, JudgeOptions, Rubric, grade
from rubricgrade.trajectory import Call, Step, Text, Trajectory
from tests.cli.program import run, write_episode, write_rubric

pytestmark = [pytest.mark.local, pytest.mark.timeout(900)]

EXTRA = {"n_ctx": 4096, "n_threads": 1}


def episode() -> Trajectory:
    steps = (
        Step(role="user", content=(Text(text="Sum up the travel costs and mail the CFO."),)),
        Step(role="assistant", calls=(Call(name="read_sheet", arguments={"name": "travel"}),)),
        Step(role="tool", content=(Text(text="Sales 12.5L\nEngineering 35.7L"),), answers=(1, 1)),
        Step(role="assistant", content=(Text(text="The total is 48.2L. It was mailed to the CFO."),)),
    )
    return Trajectory(id="local", steps=steps)


ASKED = ("names the total", "mails the CFO", "mentions a hotel")


def judged(model: str, cache: Path, asked: tuple[str, ...] = ASKED, **options: Any) -> Grade:
    criteria = [
        {"id": f"c{number}", "description": text, "points": 1, "judge": {}} for number, text in enumerate(asked)
    ]
    rubric = Rubric.model_validate({"id": "r", "criteria": criteria})
    settings = JudgeOptions(model=model, cache=cache, extra=EXTRA, concurrency=1, **options)
    return grade(episode(), rubric, judge=settings)


def test_every_answer_keeps_to_the_schema_and_the_record_is_read_once(smollm2: str, tmp_path: Path) -> None:
    found = judged(smollm2, tmp_path / "v.sqlite", style="direct", max_tokens=32)
    assert {item.verdict for item in found.criteria} <= {"met", "not_met", "cannot_tell"}
    assert all(item.judge is not None and "no measure of quality" in item.judge.note for item in found.criteria)
    assert found.usage.cost == 0.0
    assert found.usage.calls == 3
    assert found.usage.cached_tokens > found.usage.input_tokens / 3
    replies = [vote.reply for item in found.criteria if item.judge for vote in item.judge.votes]
    assert all(list(json.loads(reply)) == ["answer"] for reply in replies)


def test_a_second_run_does_not_load_it(smollm2: str, tmp_path: Path) -> None:
    first = judged(smollm2, tmp_path / "v.sqlite", style="direct", max_tokens=32)
    again = judged(smollm2, tmp_path / "v.sqlite", style="direct", max_tokens=32)
    assert again.usage.calls == 0
    assert again.canonical() == first.canonical()


def test_reasons_and_quotes_are_checked_like_anybodys(smollm2: str, tmp_path: Path) -> None:
    # A reply that is cut gets four times the room, twice: with one question it stays a matter of seconds.
    found = judged(smollm2, tmp_path / "v.sqlite", ASKED[:1], max_tokens=60)
    for item in found.criteria:
        if item.value is None:
            assert item.cause in ("judge_unparseable", "cannot_tell")
        elif item.value == 1:
            assert any(quote.verified in ("verified", "near") for quote in item.evidence)


def test_from_the_command_line(smollm2: str, tmp_path: Path) -> None:
    criterion = json.dumps({"id": "polite", "points": 1, "description": "states the total", "judge": {}})
    rubric = write_rubric(tmp_path / "r", criteria=[criterion])
    judge = (
        "--judge",
        smollm2,
        "--judge-style",
        "direct",
        "--judge-max-tokens",
        "40",
        "--cache",
        tmp_path / "v.sqlite",
    )
    asked = ("grade", rubric, write_episode(tmp_path / "e"), *judge, "--no-store")
    done = run(*asked, "--json")
    assert done.code in (0, 3), done.err
    assert done.err == ""
    (found,) = done.json["grades"]
    assert found["judge"]["id"] == smollm2
    assert 0 < found["usage"]["output_tokens"] <= 40 * found["usage"]["calls"]
    assert "no measure of quality" in found["criteria"][0]["judge"]["note"]
    assert "no measure of quality" in run(*asked).err
