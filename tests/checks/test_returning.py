"""What a check returned is no verdict: told as what a check raised is, and the author's where the source shows it.

Every check here reads a file before, so that on the start state it never comes to its end.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from textwrap import dedent, indent

import pytest

from rubricgrade import agrade
from rubricgrade.checks import Outcome
from rubricgrade.result import Raised
from rubricgrade.rubric import Rubric
from tests.checks.conftest import Ask, Episode, cases, located

HEAD = """
from rubricgrade import CheckResult
import functools
def found(value):
    return value
def wrapped(function):
    return functools.wraps(function)(lambda case: found(function(case)))
"""
DATA = '{"n": 3, "text": "yes", "none": null, "rows": []}'
PLACE = f"checks/c.py:{HEAD.count(chr(10)) + 1}"

SLIPS = {
    "a forgotten return": "data['n'] == 3",
    "nothing but the reading": "pass",
    "a branch without one": "if data['n'] == 4:\n    return True\nif data['n'] == 5:\n    return CheckResult(False)",
    "a loop over nothing": "for row in data['rows']:\n    return isinstance(row, int) and row > 3",
    "a bare one": "if data['n'] == 3:\n    return\nreturn False",
    "a text": "return 'yes'",
    "a text with data in it": "return f\"{data['n']} rows\"",
    "a list with data in it": "return [data['n']]",
    "a number out of range that is written out": "return 100 if data['n'] == 3 else 0",
    "a text behind others": "if not data['n']:\n    return False\nreturn 'no' if data['n'] == 4 else 'yes'",
    "a generator": "yield data['n'] == 3",
}
DOUBTFUL = {
    "what the agent left": "return data['text']",
    "null of the agent's": "return data['none']",
    "a result that may be null beside an end": "if data['n'] == 4:\n    return found(data['none'])",
    "a call of a function of that name": "def bool(x): return x\nreturn bool(data['none'])",
    "a text of the agent's beside one that is written out": "return data['text'] if data['n'] == 3 else 'no'",
    "a number by the agent's": "return 10 * data['n']",
    "an operator that gives either side": "return data['none'] and data['n'] == 3",
    "evidence that is none": "return CheckResult(True, evidence=5)",
    "a message that is none": "return CheckResult(True, message=data['n'])",
    "a count that is none": "return CheckResult(True, passed='3')",
    "fields that are none": "return CheckResult(True, fields=[1])",
    "names that can be set by text": "exec('')",
}


def checked(ask: Ask, body: str, above: str = "") -> Outcome:
    inner = indent(f"data = case.read_json('a.json')\n{dedent(body)}\n", "    ")
    source = f"{HEAD}{above}def check(case):\n{inner}"
    return ask.one({"python": "checks/c.py:check"}, {"a.json": DATA}, sealed={"checks/c.py": source})


@pytest.mark.parametrize("body", SLIPS.values(), ids=SLIPS)
def test_what_the_source_shows_to_be_no_verdict_is_the_authors(ask: Ask, body: str) -> None:
    outcome = checked(ask, body)
    assert (outcome.value, outcome.fault, outcome.cause) == (None, "grader", "check_error"), outcome.message
    assert outcome.raised == Raised(error="NoVerdict", place=PLACE)
    assert f"({PLACE}): this is no verdict whatever the agent has left; mend the check" in outcome.message


@pytest.mark.parametrize("body", DOUBTFUL.values(), ids=DOUBTFUL)
def test_what_data_may_have_decided_is_the_agents_and_told(ask: Ask, body: str) -> None:
    outcome = checked(ask, body)
    assert (outcome.value, outcome.fault) == (None, "agent"), outcome.message
    assert outcome.raised == Raised(error="NoVerdict", place=PLACE)
    assert "the check that returned no verdict, so this may be a defect of the check" in outcome.message


def test_what_a_decorator_or_code_of_the_agents_may_have_changed_is_the_agents(ask: Ask) -> None:
    assert checked(ask, "pass", above="@wrapped\n").fault == "agent"
    hidden = "all = lambda rows: None\nfrom functools import reduce as any\n"
    assert checked(ask, "return all(data['rows'])", above=hidden).fault == "agent"
    assert checked(ask, "return any(lambda *_: data['none'], [1, 2])", above=hidden).fault == "agent"
    assert checked(ask, "import sys\nsys.path.insert(0, str(case.workspace))").fault == "agent"


def test_verdicts_stay_verdicts(ask: Ask) -> None:
    assert checked(ask, "if data['n'] == 3:\n    return True").value == 1
    assert checked(ask, "return CheckResult(0.5, evidence=(('a', None), 'b'), message='half')").value == 0.5


def test_a_listing_that_forgets_to_return_is_the_authors_and_what_is_in_a_list_may_be_the_agents(ask: Ask) -> None:
    told = {}
    for body in ("case.glob('*')", "return [case.read_json('a.json')['n']]"):
        source = f"def listed(case):\n    case.read_json('a.json')\n    {body}\n"
        check = {"python": "c.py:listed"}
        criterion = {"id": "c", "points": 1, "description": "d", "for_each": {**check, "if_none": "met"}, "judge": {}}
        rubric = Rubric.build({"id": "r", "criteria": [criterion]}, {"c.py": source.encode()})
        with tempfile.TemporaryDirectory() as folder:
            trajectory = located(Episode(files={"a.json": DATA}), Path(folder))
            (found,) = asyncio.run(agrade(trajectory, rubric, provider=ask.provider)).criteria
        assert found.check is not None
        assert found.check.raised == Raised(error="NoItems", place="c.py:1")
        told[body] = found.fault
    assert [*told.values()] == ["grader", "agent"], told


def test_an_own_comparison_that_forgets_to_return_is_the_authors(ask: Ask) -> None:
    files = {
        **cases({"args": [1], "expected": 1}),
        "compare.py": "def alike(found, expected):\n    found == expected\n",
    }
    body = {"cases": {"file": "cases.json", "function": "a.py:f", "compare": {"python": "compare.py:alike"}}}
    outcome = ask.one(body, {"a.py": "def f(n): return n\n"}, sealed=files)
    assert (outcome.fault, outcome.raised) == ("grader", Raised(error="NoVerdict", place="compare.py:1"))
