"""Cheating: nothing earns more than the broken solution, nothing buys an open verdict, the honest one keeps it all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rubricgrade.checks import Outcome
from rubricgrade.sandbox import Limits, base_template
from tests.checks.attacks import BROKEN, CASES, FILES, HONEST, SOLUTIONS
from tests.checks.conftest import Ask, Episode

CHECK = """
def check(case):
    right = 0
    for one in CASES:
        called = case.solution.call("solution.py:solve", *one["args"])
        right += called.raised is None and case.same(called.value, one["expected"])
    return right / len(CASES)
""".replace("CASES", repr(CASES[1:2]))
ASK = "import sys, json\nsys.path.insert(0, '')\nfrom solution import solve\nprint(solve(json.load(sys.stdin)))"
CHECKS: list[dict[str, Any]] = [
    {"cases": {"file": "cases.json", "function": "solution.py:solve"}, "timeout": 20},
    {"python": "check.py:check", "timeout": 20},
    {"command": {"run": ["python3", "-I", "-c", ASK], "stdin": "[6, 7, 10]", "equals": 136}, "timeout": 20},
    {"cases": {"file": "programs.json", "program": ["python3", "-c", ASK]}, "timeout": 20},
]
SEALED = {
    "cases.json": json.dumps(CASES),
    "programs.json": json.dumps(
        [{"stdin": json.dumps(one["args"][0]), "stdout": str(one["expected"])} for one in CASES[:2]]
    ),
    "check.py": CHECK,
}
SMALL = base_template(limits=Limits(memory=256 << 20, processes=64))
HURRIED = [{**check, "timeout": 1.5} for check in CHECKS]


def graded(ask: Ask, episode: Episode, checks: list[dict[str, Any]] = CHECKS) -> list[Outcome]:
    return ask.all(checks, sealed=SEALED, episode=episode, template=SMALL)


def won(outcomes: list[Outcome]) -> list[Outcome]:
    """Those that an attacker wins by: a value, or a fault that is taken for the grader's."""
    return [outcome for outcome in outcomes if outcome.value or outcome.fault == "grader"]


def test_the_honest_solution_keeps_its_full_score(ask: Ask) -> None:
    assert [outcome.value for outcome in graded(ask, Episode({"solution.py": HONEST}))] == [1.0] * 4


def test_the_broken_solution_earns_nothing(ask: Ask) -> None:
    assert not won(graded(ask, Episode({"solution.py": BROKEN})))


SLOW = ["hang at import", "fork without end", "a reply of many megabytes"]
"""These wait for limits of time; they are tried by `make test-attacks`, as are all of `tests/attacks`."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.attacks] if name in SLOW else []) for name in SOLUTIONS]
)
def test_a_solution_that_cheats_earns_nothing(ask: Ask, name: str) -> None:
    assert not won(graded(ask, Episode({"solution.py": SOLUTIONS[name]}), HURRIED))


@pytest.mark.parametrize("name", FILES)
def test_files_beside_a_broken_solution_earn_nothing(ask: Ask, name: str) -> None:
    assert not won(graded(ask, Episode({"solution.py": BROKEN, **FILES[name]})))


def test_files_beside_an_honest_solution_take_nothing_from_calls(ask: Ask) -> None:
    files = {"solution.py": HONEST, **FILES["bring the reward"]}
    assert [outcome.value for outcome in graded(ask, Episode(files))] == [1.0] * 4


def test_a_case_that_breaks_its_fork_costs_the_others_nothing(ask: Ask) -> None:
    breaking = "import os\ndef solve(xs):\n    if xs == [2, 4]: os.chmod('/work', 0)\n"
    files = {
        "solution.py": breaking + "    return sum(x * x for x in xs if x % 2 == 0) % 9973 if xs != [2, 4] else 0\n"
    }
    (outcome,) = graded(ask, Episode(files), CHECKS[:1])
    assert (outcome.passed, outcome.total, outcome.fault) == (2, 3, None), outcome.message
