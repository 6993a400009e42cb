"""`rubricgrade regrade` as somebody types it: what it will do, what it has done, and what it found no use for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.chat.scripted import ScriptedServer, completion
from tests.cli.program import Ran, run
from tests.episode.making import ANSWER, write, write_task

JUDGED = {"id": "told", "description": "says what it did", "points": 1, "judge": {}}
RUBRIC = {"id": "answer", "criteria": [ANSWER, JUDGED]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run of two tasks, of which one has a judged criterion that nobody has decided."""
    tasks = [
        write_task(tmp_path / "answer", rubric=RUBRIC),
        write_task(tmp_path / "plain", rubric={"id": "plain", "criteria": [ANSWER]}),
    ]
    made = run("run", *tasks, "--agent", "oracle", "-q", "-o", tmp_path / "run")
    assert made.code == 3, made.err
    return tmp_path / "run"


def again(folder: Path, *options: str | Path) -> Ran:
    return run("regrade", folder, "--no-cache", *options)


def test_another_rubric_than_the_tasks_own_is_named_before_anything_is_graded(folder: Path, tmp_path: Path) -> None:
    own = folder.parent / "answer" / "tests" / "rubric.yaml"
    planned = again(folder, "--rubric", own, "--dry-run")
    assert planned.code == 0, planned.err
    assert (
        "warning: rubric 'answer' is another one than these tasks have been graded by: plain by 'plain'" in planned.err
    )
    assert f"back again: rubricgrade regrade {folder}" in planned.err
    assert len(list((folder / "plain" / "0" / "grades").iterdir())) == 1
    assert "warning" not in again(folder, "--rubric", own, "--task", "answer", "--dry-run").err
    write(tmp_path, {"other.yaml": json.dumps({"id": "other", "criteria": [{**ANSWER, "points": 2}]})})
    done = again(folder, "--rubric", tmp_path / "other.yaml")
    assert "answer by 'answer', plain by 'plain'" in done.err
    assert done.code == 0, done.err
    assert "answer #0: ungraded is now 1" in done.out
    assert run("diff", folder).out.splitlines()[-1] == (
        "2 episodes on both sides: 1 score moved, 1 ungraded -> graded, 0 verdicts flipped"
    )


def test_a_dry_run_says_what_judging_would_take(folder: Path) -> None:
    plan = again(folder, "--judge", "openai/gpt-4o-mini", "--dry-run", "--json").json
    assert plan["schema"] == "rubricgrade.plan/1"
    assert (plan["trajectories"], list(plan["criteria"])) == (2, ["told"])
    assert plan["total"]["calls"] == [1, 1]
    assert len(list((folder / "answer" / "0" / "grades").iterdir())) == 1


def test_a_task_that_the_run_does_not_have(folder: Path) -> None:
    done = again(folder, "--task", "anwser")
    assert done.code == 2
    assert "this run has no task anwser; it has answer, plain" in done.err


def test_json_is_one_document_with_what_changed_and_what_had_no_use(folder: Path, tmp_path: Path) -> None:
    lines = [
        {"question": "sha256:x", "criterion": "told", "asked": "says nothing", "answer": "no", "recorded_by": "ann"},
        {"question": "sha256:y", "criterion": "gone", "answer": "no", "recorded_by": "ann"},
    ]
    write(tmp_path, {"v.jsonl": "".join(json.dumps(line) + "\n" for line in lines)})
    own = folder.parent / "plain" / "tests" / "rubric.yaml"
    own.write_text(own.read_text().replace("^42$", "^43$"))
    done = again(folder, "--verdicts", tmp_path / "v.jsonl", "--json")
    assert done.code == 3
    assert done.json["graded"] == 2
    assert done.json["changed"] == [{"task": "plain", "sample": 0, "before": 1.0, "after": 0.0}]
    (unused,) = done.json["unused_verdicts"]
    assert (unused["lines"], unused["of"]) == ([1, 2], 2)
    assert unused["why"] == "asks 'says nothing', and criterion told now asks 'says what it did'"
    assert done.json["standing"]["overall"]["ungraded"] == 1


def test_a_run_counts_out_what_had_no_use_too(tmp_path: Path) -> None:
    task = write_task(tmp_path / "answer", rubric=RUBRIC)
    line = {"question": "sha256:x", "criterion": "gone", "answer": "no", "recorded_by": "ann"}
    write(task, {"tests/verdicts.jsonl": json.dumps(line) + "\n"})
    done = run("run", task, "--agent", "nop", "-q", "-o", tmp_path / "run")
    assert "1 of 1 recorded verdicts answers no question of this rubric: line 1; line 1 is about 'gone'" in done.err


def test_what_a_model_has_decided_is_not_left_open_because_nobody_is_named(tmp_path: Path) -> None:
    task = write_task(tmp_path / "answer", rubric=RUBRIC)
    server = ScriptedServer()
    server.script = [completion(json.dumps({"reasoning": "", "evidence": [], "answer": "no"}))]
    judge = ["--judge", "openai/small", "--judge-api-base", server.base]
    try:
        made = run("run", task, "--agent", "oracle", "-q", "-o", tmp_path / "run", *judge, env={"OPENAI_API_KEY": "k"})
    finally:
        server.close()
    assert made.code == 0, made.err
    done = again(tmp_path / "run")
    assert done.code == 2
    assert "judged by openai/small, and nobody is named to judge them now" in done.err
    assert len(list((tmp_path / "run" / "answer" / "0" / "grades").iterdir())) == 1
    assert again(tmp_path / "run", "--offline").code == 3
    write(tmp_path, {"plain.yaml": json.dumps({"id": "plain", "criteria": [ANSWER]})})
    assert again(tmp_path / "run", "--rubric", tmp_path / "plain.yaml").code == 0
