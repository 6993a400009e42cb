"""A start state that hangs or raises, as the task's bug: leaving it so buys no open verdict, and a broken check no number."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.checks import Outcome
from rubricgrade.checks.bench import Bench
from rubricgrade.sandbox import Layer, Provider, base_template
from tests.checks.conftest import Episode, Files, located, rubric_of, write

HANGS = "import time\ndef double(x):\n    while x == 2: time.sleep(1)\n    return 2 * x\nif __name__ == '__main__': double(2)\n"
RAISES = "def double(x):\n    raise NotImplementedError\n"
FIXED = "def double(x):\n    return 2 * x\n"
SUITE = (
    "from m import double\ndef test_two():\n    assert not double(2) - 4\n"
    "def test_three():\n    assert not double(3) - 6\n"
)
"""Of these tests there are no twins, which would only take their time as well."""


def outcome(
    provider: Provider, folder: Path, start: Files, left: Files, *, check: Any, sealed: Files | None = None
) -> Outcome:
    """What comes of a check where the agent left some files over the template's."""

    async def run() -> Outcome:
        async with provider.stage(write(folder / "start", start)) as layer:
            template = base_template(layers=(Layer(layer, "/work", "overlay"),))
            rubric = rubric_of([check], sealed or {})
            async with Bench(located(Episode(left), folder), rubric, provider, template) as bench:
                used = rubric.check_of(rubric.gates[0])
                assert used is not None
                return await bench.run(used)

    return asyncio.run(run())


@pytest.mark.parametrize(("left", "value", "fault"), [({}, None, "agent"), ({"m.py": FIXED}, 1.0, None)])
def test_a_program_that_hangs_from_the_start_is_the_agents_to_mend(
    provider: Provider, tmp_path: Path, left: Files, value: float | None, fault: str | None
) -> None:
    check = {"command": ["python3", "m.py"], "timeout": 2}
    found = outcome(provider, tmp_path, {"m.py": HANGS}, left, check=check)
    assert (found.value, found.fault, found.cause) == (value, fault, None), found.message


def test_a_program_of_the_authors_that_hangs_is_the_graders_fault_whatever_is_there(
    provider: Provider, tmp_path: Path
) -> None:
    check = {"command": ["sh", "-c", "echo x > seen.txt; sleep 30"], "timeout": 2}
    found = outcome(provider, tmp_path, {"m.py": HANGS}, {"m.py": FIXED}, check=check)
    assert (found.value, found.fault, found.cause) == (None, "grader", "check_error")


def test_tests_that_hang_from_the_start_have_failed(provider: Provider, tmp_path: Path) -> None:
    plan = {"fail_to_pass": ["test_m.py::test_two"], "pass_to_pass": ["test_m.py::test_three"]}
    check = {"pytest": {"files": ["test_m.py"], **plan}, "timeout": 2}
    found = outcome(provider, tmp_path, {"m.py": HANGS}, {}, check=check, sealed={"test_m.py": SUITE})
    assert (found.value, found.passed, found.total, found.fault) == (0.0, 1, 2, None), found.evidence


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("return case.solution.call('m.py:double', 3).value > 5", "agent"),
        (
            "called = case.solution.call('m.py:double', 3); return called.raised is None and called.value > no_such",
            None,
        ),
        ("case.solution.call('m.py:double', 3); return no_such", "grader"),
    ],
)
def test_a_function_that_raises_from_the_start_does_not_break_the_check(
    provider: Provider, tmp_path: Path, line: str, fault: str | None
) -> None:
    sealed = {"c.py": f"def check(case):\n    {line}\n"}
    found = outcome(provider, tmp_path, {"m.py": RAISES}, {}, check={"python": "c.py:check"}, sealed=sealed)
    assert found.fault == fault, found.message
    assert (found.value is None) == (fault is not None)
