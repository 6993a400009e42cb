"""`task check`: each thing that must hold, found to fail where it does not."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rubricgrade.episode.task import Task
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.runs.proving import Finding, check_task
from tests.episode.making import EXAMPLES, write_task

REFERENCE, NOTHING, TWICE, AGAIN, SEALED = range(5)
CHECK = {"id": "c", "description": "by code", "points": 1, "check": {"python": "checks/c.py:check"}}


def holds(task: Path) -> list[bool | None]:
    return [finding.holds for finding in found(task)]


def found(task: Path) -> list[Finding]:
    loaded, recorded = Task.load(task), task / "tests" / "verdicts.jsonl"
    judge = JudgeOptions(offline=True, verdicts=(recorded,) if recorded.is_file() else (), cache=False)

    async def main() -> list[Finding]:
        return [finding async for finding in check_task(loaded, judge=judge)]

    return asyncio.run(main())


def by_code(folder: Path, code: str, **files: str) -> Path:
    return write_task(folder, {"tests/checks/c.py": code, **files}, rubric={"id": "r", "criteria": [CHECK]})


def test_a_good_task(task: Path) -> None:
    assert holds(task) == [True] * 5


def test_a_reference_that_fails(tmp_path: Path) -> None:
    finding = found(write_task(tmp_path / "t", {"solution/solve.sh": "echo no compiler is here >&2; exit 3"}))[
        REFERENCE
    ]
    assert finding.holds is False
    assert "ended: failed" in finding.message
    assert "no compiler is here" in finding.message


def test_doing_nothing_is_enough(tmp_path: Path) -> None:
    assert holds(by_code(tmp_path / "t", "def check(case):\n    return True\n"))[NOTHING] is False


def test_a_grader_that_decides_by_chance(tmp_path: Path) -> None:
    code = "import os\n\ndef check(case):\n    return os.urandom(4)[0] / 255\n"
    assert holds(by_code(tmp_path / "t", code))[AGAIN] is False


def test_a_check_that_raises_is_named_with_its_line(tmp_path: Path) -> None:
    code = "def check(case):\n    done = case.exists('answer.txt')\n    return {True: {}['x'] if done else 0}[done]\n"
    findings = found(by_code(tmp_path / "t", code))
    for finding, error in ((findings[REFERENCE], "KeyError"), (findings[NOTHING], "KeyError")):
        assert f"a check itself failed, mend it: checks/c.py:3 raised {error}" in finding.message


def test_a_sealed_file_that_lies_in_the_environment(tmp_path: Path) -> None:
    code = "def check(case):\n    return case.exists('answer.txt')\n"
    task = by_code(tmp_path / "t", code, **{"environment/files/deep/renamed.txt": code})
    assert holds(task)[SEALED] is False


def test_what_nobody_can_judge_is_open(tmp_path: Path) -> None:
    judged = {"id": "j", "description": "judged", "points": 1, "judge": {}}
    assert holds(write_task(tmp_path / "t", rubric={"id": "r", "criteria": [judged]}))[:2] == [None, None]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.iterdir()))
def test_the_examples_hold(name: str) -> None:
    assert holds(EXAMPLES / name) == [True] * 5
