"""What authors are told about suites without twins and checks that run what the agent left."""

from __future__ import annotations

from pathlib import Path

import pytest

from rubricgrade import load_rubric
from rubricgrade.checks.weaknesses import weaknesses
from tests.checks.conftest import rubric_of

SUITE = """
import pytest
from m import f

def test_twinned():
    assert f(1) == 2

def test_refuses():
    with pytest.raises(ValueError):
        f(None)
"""


def test_a_test_without_a_twin_is_named_with_its_place() -> None:
    check = {"pytest": {"files": ["t.py"], "fail_to_pass": ["t.py::test_twinned", "t.py::test_refuses"]}}
    (found,) = weaknesses(rubric_of([{"not": check}], {"t.py": SUITE}))
    assert (found.kind, found.place) == ("untwinned", ("gates", 0, "check", "not", "pytest", "fail_to_pass"))
    assert "t.py::test_refuses" in found.message
    assert "test_twinned" not in found.message


def test_a_test_with_an_assertion_that_no_twin_can_make_wrong_is_named() -> None:
    suite = SUITE + "\ndef test_both():\n    assert f(1) == 2\n    assert f(2) in (3, 4)\n"
    check = {"pytest": {"files": ["t.py"], "pass_to_pass": ["t.py::test_twinned", "t.py::test_both"]}}
    (found,) = weaknesses(rubric_of([check], {"t.py": suite}))
    assert (found.kind, found.place) == ("twinned-in-part", ("gates", 0, "check", "pytest", "pass_to_pass"))
    assert "some assertions of t.py::test_both can" in found.message


@pytest.mark.parametrize("isolate", ["file", "suite"])
def test_tests_that_share_a_process_are_told(isolate: str) -> None:
    check = {"pytest": {"files": ["t.py"], "fail_to_pass": ["t.py::test_twinned"], "isolate": isolate}}
    (found,) = weaknesses(rubric_of([check], {"t.py": SUITE}))
    assert (found.kind, found.place) == ("shared-process", ("gates", 0, "check", "pytest", "isolate"))


def test_a_plan_that_names_nothing_is_told() -> None:
    check = {"pytest": {"files": ["t.py"], "pass_to_pass": ["t.py::test_gone"]}}
    (found,) = weaknesses(rubric_of([check], {"t.py": SUITE}))
    assert "there is no test test_gone" in found.message


@pytest.mark.parametrize(
    "line",
    [
        "exec(case.read_text('m.py'))",
        "importlib.util.spec_from_file_location('m', case.workspace / 'm.py')",
        "subprocess.run(['python3', case.workspace / 'm.py'])",
        "pickle.loads(case.read_bytes('m.pkl'))",
        "runpy.run_path(case.workspace / 'm.py')",
    ],
)
def test_a_python_check_that_runs_what_the_agent_left_is_told(line: str) -> None:
    head = "import importlib.util, pickle, runpy, subprocess; "
    rubric = rubric_of([{"python": "c.py:check"}], {"c.py": f"{head}\ndef check(case):\n    return {line}\n"})
    (found,) = weaknesses(rubric)
    assert (found.kind, found.place) == ("runs-agent-code", ("gates", 0, "check", "python"))
    assert "line 3" in found.message


def test_a_python_check_that_asks_the_solution_is_fine() -> None:
    code = "def check(case):\n    ran = case.solution.run(['x'])\n    return case.solution.call('m.py:f').value == 1\n"
    assert weaknesses(rubric_of([{"python": "c.py:check"}], {"c.py": code})) == []


@pytest.mark.parametrize(
    ("code", "name", "line"),
    [
        ("import json\ndef check(case):\n    if case.exists('a'):\n        return jsn.loads('1')\n", "jsn", 4),
        ("found = 0\ndef check(case):\n    for _ in case.calls():\n        found += 1\n", "found", 4),
        ("def check(case):\n    sum = sum([1])\n    return sum == 1\n", "sum", 2),
    ],
)
def test_a_line_that_fails_whenever_it_is_reached_is_told(code: str, name: str, line: int) -> None:
    (found,) = weaknesses(rubric_of([{"python": "c.py:check"}], {"c.py": code}))
    assert (found.kind, found.place) == ("always-fails", ("gates", 0, "check", "python"))
    assert f"reads {name} (line {line})" in found.message


def test_a_failing_line_is_told_of_the_checks_that_come_to_it() -> None:
    code = (
        "def helper():\n    return a_typo\n"
        "def direct(case):\n    return helper()\n"
        "TABLE = {'in': later}\n"
        "def through(case):\n    return TABLE['in'](case)\n"
        "def later(case):\n    return another_typo\n"
        "def alone(case, of=lambda: a_third):\n    return a_fourth\n"
    )
    names = ("direct", "through", "alone")
    found = weaknesses(rubric_of([{"python": f"c.py:{name}"} for name in names], {"c.py": code}))
    told = {name: [each.message.split()[1] for each in found if each.place[1] == at] for at, name in enumerate(names)}
    assert told == {
        "direct": ["a_typo", "another_typo", "a_third"],
        "through": ["another_typo", "a_third"],
        "alone": ["another_typo", "a_third", "a_fourth"],
    }


def test_what_a_case_does_not_have_is_told() -> None:
    code = "def other(case):\n    return case.x\ndef check(the):\n    return the.exists('a') and the.raed_text('a')\n"
    (found,) = weaknesses(rubric_of([{"python": "c.py:check"}], {"c.py": code}))
    assert (found.kind, found.place) == ("always-fails", ("gates", 0, "check", "python"))
    assert "asks for the.raed_text (line 4), which a case does not have" in found.message


@pytest.mark.parametrize(
    "body",
    [
        "return case.args or case.vars or case.within or case.timeout or case.solution or case.sealed or case.mail()",
        "case.seen = 1\n    return case.seen",
        "case = case.read_json('a')\n    return case.total",
    ],
)
def test_what_a_case_has_or_is_given_is_fine(body: str) -> None:
    assert weaknesses(rubric_of([{"python": "c.py:check"}], {"c.py": f"def check(case):\n    {body}\n"})) == []


NAMES = """
from __future__ import annotations
import json, os.path as path
from helper import *
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from rubricgrade import Case
LIMIT: int = 3
def check(case: Case, *rest: Unknown, **more) -> Other:
    global seen
    seen = 1
    def inner():
        nonlocal counted
        counted += 1
        return counted
    counted = 0
    for row in rest: last = row
    with open(__file__) as file, open("x"): text = file.read()
    try: import nothing
    except ImportError as error: print(error)
    match text:
        case {"a": first, **others}: return first or others
        case [one, *many] as whole: return one or many or whole
    squares = {n: m for n in range(3) for m in (k for k in range(n))}
    if (found := path.exists("x")): return found
    class Kept:
        size = LIMIT
        big = size + 1
    return json, inner, more, last, squares, seen, (lambda a, *, b=1: a + b), Kept, [deep for deep in "x"]
"""


def test_names_that_are_set_in_any_way_are_fine() -> None:
    assert weaknesses(rubric_of([{"python": "c.py:check"}], {"c.py": NAMES})) == []


def test_the_example_with_a_suite_has_none() -> None:
    examples = Path(__file__).resolve().parents[2] / "examples"
    assert weaknesses(load_rubric(examples / "invoicekit" / "rubric.yaml")) == []


@pytest.mark.parametrize(
    ("code", "helper"),
    [
        (
            "import helper\ndef check(case):\n    helper.fill(case)\n    return case.total\n",
            "def fill(case):\n    case.total = 1\n",
        ),
        ("def check(case):\n    setattr(case, 'total', 1)\n    return case.total\n", ""),
        ("def check(case):\n    return total\n", "import c\ndef fill():\n    c.total = 1\n"),
    ],
)
def test_what_another_file_or_a_call_sets_is_not_told(code: str, helper: str) -> None:
    assert weaknesses(rubric_of([{"python": "c.py:check"}], {"c.py": code, "helper.py": helper})) == []


@pytest.mark.parametrize(
    "decorator",
    [
        "('n', [pytest.param(1, id=RUN)])",
        "('n', [1], ids=[RUN])",
        "('n, m=RUN', [(1, 2)])",
        "(['n', 'm=RUN'], [(1, 2)])",
        "('n', [RUN])",
        "('n', [pytest.param(RUN)])",
    ],
)
def test_what_a_suite_would_run_to_name_its_tests_is_not_run_here(tmp_path: Path, decorator: str) -> None:
    ran = tmp_path / "ran"
    run = f"__import__('pathlib').Path({str(ran)!r}).touch()"
    quoted = decorator.replace("'n, m=RUN'", repr(f"n, m={run}")).replace("'m=RUN'", repr(f"m={run}"))
    code = f"import pytest\n@pytest.mark.parametrize{quoted.replace('RUN', run)}\ndef test_it(n, m=0):\n    assert n == 1\n"
    for name in ("test_x.py::test_it", "test_x.py::test_it[1]", "test_x.py::test_it[1-2]"):
        suite = {"pytest": {"files": ["test_x.py"], "fail_to_pass": [name]}}
        weaknesses(rubric_of([suite], {"test_x.py": code}))
    assert not ran.exists()
