"""Prompts that a stranger's rubric brings: refused before anything is rendered, or bounded while it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.server.conftest import messages
from tests.server.running import Running

BOMBS = [
    "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}",
    '{{ "x" * 10**10 }}',
    '{{ "x"|center(9999999999) }}',
    '{{ "%999999999999d" % 1 }}',
    "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}",
]


def brought(*prompts: str, **variables: Any) -> dict[str, Any]:
    criteria = [
        {"id": f"c{number}", "description": "names it", "points": 1, "judge": {"prompt": prompt} if prompt else {}}
        for number, prompt in enumerate(prompts)
    ]
    rubric = {"id": "r", "vars": variables, "criteria": criteria}
    return {"rubric": {"yaml": json.dumps(rubric)}, "trajectory": messages()}


@pytest.mark.parametrize("prompt", BOMBS)
def test_a_bomb_is_refused_with_its_place(server: Running, prompt: str) -> None:
    answer = server.post("/grade", brought(prompt))
    assert (answer.status, answer.error) == (422, "rubric_invalid")
    (fault, *_) = answer.json["error"]["faults"]
    assert (fault["code"], fault["line"]) == ("RG015", 1)
    assert "of the prompt" in fault["message"]


def test_what_would_take_for_ever_opens_its_own_criterion_and_no_other(server: Running) -> None:
    loops = "{% for a in vars.many %}{% for b in vars.many %}{% endfor %}{% endfor %}"
    answer = server.post("/grade", brought(loops, "", "{{ criterion < 1 }}", many=["x"] * 20_000))
    assert answer.status == 200
    grade = answer.json
    assert (grade["status"], grade["cause"], grade["score"]) == ("ungraded", "judge_failed", None)
    assert [each["verdict"] for each in grade["criteria"]] == ["error", "met", "error"]
    assert "more than 1,000,000 characters of work" in grade["criteria"][0]["message"]
    assert "'<' not supported" in grade["criteria"][2]["message"]
