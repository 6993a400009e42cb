"""Who can't be asked is said by every command before anything is run or written, with exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.program import run, write_episode, write_rubric
from tests.episode.making import write_task

JUDGED = "{id: polite, points: 1, description: is polite, judge: {}}"
NAMING = "{id: polite, points: 1, description: is polite, judge: {model: openai/gpt-5-mini}}"
CODE = "{id: total, points: 1, description: d, check: {trajectory: {final_message: {contains: lakh}}}}"


@pytest.mark.parametrize(
    ("criterion", "options", "words"),
    [
        (JUDGED, ("--judge", "gpt5"), "judge: gpt5: no provider is known for this name; did you mean gpt-5?"),
        (JUDGED, ("--judge", "local:/nowhere.gguf", "--cache", "/dev/null/c"), "/dev/null: is no folder"),
        (NAMING, (), "rubric travel, criterion polite: openai/gpt-5-mini: no API key was given; set OPENAI_API_KEY"),
    ],
)
def test_grade_begins_nothing(tmp_path: Path, criterion: str, options: tuple[str, ...], words: str) -> None:
    rubric, episode = write_rubric(tmp_path / "r", criteria=[criterion]), write_episode(tmp_path / "e")
    before = sorted(tmp_path.rglob("*"))
    done = run("grade", rubric, episode, *options, "-o", tmp_path / "out", "--missing", tmp_path / "missing.jsonl")
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert "--offline" in done.err
    assert sorted(tmp_path.rglob("*")) == before


def test_who_is_not_asked_need_not_be_there(tmp_path: Path) -> None:
    episode = write_episode(tmp_path / "e")
    code = write_rubric(tmp_path / "code", criteria=[CODE])
    assert run("grade", code, episode, "--judge", "openai/gpt-5-mini").code == 0
    naming = write_rubric(tmp_path / "naming", criteria=[NAMING])
    assert run("grade", naming, episode, "--offline").code == 3


@pytest.mark.parametrize(
    "options",
    [
        ("--agent", "litellm:openai/gpt-5-mini"),
        ("--agent", "nop", "--judge", "openai/gpt-5-mini"),
        ("--agent", "nop", "--judge", "openai/x", "--judge-api-base", "http://127.0.0.1:9/v1",
         "--escalate", "local:/nowhere.gguf"),
    ],
    ids=["agent", "judge", "escalate"],
)  # fmt: skip
def test_run_makes_no_folder(tmp_path: Path, options: tuple[str, ...]) -> None:
    task = write_task(tmp_path / "task", {"tests/rubric.yaml": f"id: r\ncriteria:\n  - {JUDGED}\n"})
    done = run("run", task, *options, "-o", tmp_path / "run")
    assert (done.code, done.out) == (2, "")
    assert "nothing was begun" in done.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("verb", [("redteam",), ("task", "check"), ("task", "quality")])
def test_nor_is_a_task_proved(tmp_path: Path, verb: tuple[str, ...]) -> None:
    task = write_task(tmp_path / "task", {"tests/rubric.yaml": f"id: r\ncriteria:\n  - {JUDGED}\n"})
    done = run(*verb, task, "--judge", "openai/gpt-5-mini")
    assert done.code == 2
    assert "set OPENAI_API_KEY" in done.err
