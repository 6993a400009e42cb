"""Prompts of an author's own, from the command line: a bad one is a fault with its place, and never ends a batch."""

from __future__ import annotations

import json
from pathlib import Path

from rubricgrade.result import Grade
from tests.chat.scripted import ScriptedServer, completion
from tests.cli.program import SAYS_TOTAL, run, write_episode, write_rubric

YES = {"reasoning": "so", "evidence": [{"quote": "The total is 48.2 lakh.", "where": "[1].text"}], "answer": "yes"}


def judged(name: str, prompt: str) -> str:
    return f"{{id: {name}, points: 1, description: says it, judge: {{prompt: {json.dumps(prompt)}}}}}"


def test_lint_names_what_may_not_stand_there(tmp_path: Path) -> None:
    bombs = ['{{ "x" * 10**10 }}', "{% for i in range(99999) %}x{% endfor %}", '{{ "x"|center(9999999999) }}']
    rubric = write_rubric(tmp_path, criteria=[judged(f"c{n}", bomb) for n, bomb in enumerate(bombs)])
    done = run("lint", rubric, "--format", "json")
    assert done.code == 2
    found = [each for each in done.json["findings"] if each["code"] == "RG015"]
    assert [each["line"] for each in found] == [3, 4, 5]
    assert "arithmetic is not allowed; a prompt holds text, names" in found[0]["message"]


def test_a_batch_goes_on_past_a_prompt_that_can_not_be_rendered(tmp_path: Path) -> None:
    rubric = write_rubric(
        tmp_path / "rubric",
        criteria=[SAYS_TOTAL, judged("bad", "{{ criterion < 1 }}"), judged("good", "Check: {{ criterion }}")],
    )
    for name in ("a", "b"):
        write_episode(tmp_path / "episodes" / name)
    server = ScriptedServer()
    server.script = [completion(json.dumps(YES))]
    try:
        done = run(
            "grade", rubric, tmp_path / "episodes", "--judge", "openai/some-judge", "--api-base", server.base,
            "--no-cache", "--json", env={"OPENAI_API_KEY": "k"},
        )  # fmt: skip
    finally:
        server.close()
    assert done.code == 3, done.err
    assert "Traceback" not in done.err
    grades = [Grade.model_validate(each) for each in done.json["grades"]]
    assert [grade.trajectory.id for grade in grades] == ["a", "b"]
    for grade in grades:
        assert (grade.status, grade.cause, grade.score) == ("ungraded", "judge_failed", None)
        assert [each.verdict for each in grade.criteria] == ["met", "error", "met"]
        assert grade.bounds is not None
        assert list(grade.bounds) == [0.8, 1.0]
        assert "can't be rendered: line 1 of the prompt: '<' not supported" in (grade.criteria[1].message or "")
