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
    rubric = rubric_of([{"python": "c.py:check"}], {"c.py": f"def check(case):\n    return {line}\n"})
    (found,) = weaknesses(rubric)
    assert (found.kind, found.place) == ("runs-agent-code", ("gates", 0, "check", "python"))
    assert "line 2" in found.message


def test_a_python_check_that_asks_the_solution_is_fine() -> None:
    code = "def check(case):\n    ran = case.solution.run(['x'])\n    return case.solution.call('m.py:f').value == 1\n"
    assert weaknesses(rubric_of([{"python": "c.py:check"}], {"c.py": code})) == []


def test_the_example_with_a_suite_has_none() -> None:
    examples = Path(__file__).resolve().parents[2] / "examples"
    assert weaknesses(load_rubric(examples / "invoicekit" / "rubric.yaml")) == []
