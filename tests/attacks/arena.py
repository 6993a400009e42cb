"""Where attacks take place: a script runs as the agent in its fork, is ended, and what it left is graded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from rubricgrade import Grade, agrade
from rubricgrade.rubric import Rubric
from rubricgrade.sandbox import Layer, Limits, Provider, Template, base_template
from rubricgrade.trajectory import Step, Text, Trajectory
from tests.attacks.scripts import BROKEN

CASES = [([2, 4], 20), ([6, 7, 10], 136), ([100, 101], 27), ([8, 8, 8], 192), ([12, 14, 1], 340)]
ASK = "import sys, json\nsys.path.insert(0, '')\nfrom solution import solve\nprint(solve(json.load(sys.stdin)))"
SUITE = f"""
import pytest
from solution import solve

@pytest.mark.parametrize("xs,want", {CASES})
def test_solve(xs, want):
    assert solve(xs) == want
"""
CHECK = f"""
CASES = {CASES}

def calls(case):
    called = [(case.solution.call("solution.py:solve", xs), want) for xs, want in CASES]
    return all(found.raised is None and case.same(found.value, want) for found, want in called)

def reads(case):
    return case.read_text("answer.txt").strip() == case.sealed.joinpath("answer.txt").read_text().strip()
"""
SHELL = f'python3 -c "{ASK}" > got.txt; echo 136 > want.txt; diff -q got.txt want.txt > /dev/null && cat got.txt'
SEALED = {
    "cases.json": json.dumps([{"args": [xs], "expected": want} for xs, want in CASES]),
    "programs.json": json.dumps([{"stdin": json.dumps(xs), "stdout": str(want)} for xs, want in CASES]),
    "test_solve.py": SUITE,
    "check.py": CHECK,
    "answer.txt": "3.25",
    "table.csv": "id,amount\n1,3.25\n2,-1.5\n",
}

Checks = Mapping[str, Mapping[str, Any]]
FUNCTION: Checks = {
    "cases of a function": {"cases": {"file": "cases.json", "function": "solution.py:solve"}},
    "calls of a python check": {"python": "check.py:calls"},
}
PROGRAM: Checks = {
    "cases of a program": {"cases": {"file": "programs.json", "program": ["python3", "-c", ASK]}},
    "output of a command": {"command": {"run": ["python3", "-I", "-c", ASK], "stdin": "[6, 7, 10]", "equals": 136}},
}
SUITES: Checks = {
    "a sealed suite": {"pytest": {"files": ["test_solve.py"], "fail_to_pass": ["test_solve.py::test_solve"]}}
}
SCRIPT: Checks = {"output of a script": {"command": {"run": ["sh", "-c", SHELL], "stdin": "[6, 7, 10]", "equals": 136}}}
FILES: Checks = {
    "text of a file": {"python": "check.py:reads"},
    "a text in a file": {"matches": {"path": "answer.txt", "pattern": r"\A3\.25\s*\Z"}},
    "a value in a file": {"json": {"path": "answer.json", "at": "$.w", "equals": 3.25}},
    "cells of a file": {"csv": {"path": "table.csv", "column": "amount", "where": {"id": "2"}, "equals": -1.5}},
    "a table": {"table": {"path": "table.csv", "expected": "table.csv", "key": ["id"]}},
}
KINDS: Mapping[str, Checks] = {
    "in-process": {**FUNCTION, **PROGRAM},
    "pytest": SUITES,
    "shell": {**SCRIPT, **PROGRAM, **FUNCTION},
    "artifacts": FILES,
    "timing": {**FUNCTION, **PROGRAM},
    "channel": {**FUNCTION, **PROGRAM},
    "resources": {**FUNCTION, **PROGRAM},
}
"""The kinds of check that each class of attacks aims at."""
PYTEST_WAIT = 15.0
ANSWERS = {"answer.txt": "3.25\n", "answer.json": '{"w": 3.25}', "table.csv": "id,amount\n1,3.25\n2,-1.5\n"}
LEAVE_ANSWERS = "".join(f"open({path!r}, 'w').write({text!r})\n" for path, text in ANSWERS.items())


def limit(check: Mapping[str, Any], seconds: float) -> float:
    """A suite's limit holds for starting pytest several times too, which on a busy machine takes seconds."""
    return max(seconds, PYTEST_WAIT) if "pytest" in check else seconds


def rubric_of(checks: Checks, seconds: float) -> Rubric:
    """Each check as a gate of its own would hide the others: they are criteria, one point each."""
    criteria = [
        {"id": f"c{number}", "description": name, "points": 1, "check": {**check, "timeout": limit(check, seconds)}}
        for number, (name, check) in enumerate(checks.items())
    ]
    return Rubric.build(
        {"id": "attacked", "criteria": criteria}, {path: text.encode() for path, text in SEALED.items()}
    )


class Arena:
    """One task: agents act on a fork of its template, and are graded on what they leave."""

    def __init__(self, provider: Provider, folder: Path, extras: Sequence[Path] = ()) -> None:
        self._provider = provider
        self._folder = folder
        self._extras = extras

    async def fight(self, script: str | bytes, checks: Checks | Rubric, *, seconds: float = 60) -> Grade:
        """Run a script as the agent, and grade.

        Args:
            script: Python, run in the work folder.
            checks: What the rubric checks, or a whole rubric.
            seconds: The solution's limit of time, where no rubric says it.
        """
        async with AsyncExitStack() as held:
            template = await self._template(held)
            workspace = await self._left(script, template)
            trajectory = Trajectory(id="t", steps=(Step(role="user", content=(Text(text="Do it."),)),))
            grading = agrade(
                trajectory.located(workspace=workspace),
                checks if isinstance(checks, Rubric) else rubric_of(checks, seconds),
                provider=self._provider,
                template=template,
            )
            return await grading

    async def _left(self, script: str | bytes, template: Template) -> Path:
        agent = await self._provider.open(template)
        try:
            code = script.encode() if isinstance(script, str) else script
            await agent.exec(["python3", "-"], stdin=code, timeout=20)
            archive = self._folder / "workspace.tar.zst"
            await agent.snapshot(archive)
        finally:
            await agent.close()
        return archive

    async def _template(self, held: AsyncExitStack) -> Template:
        start = self._folder / "start"
        start.mkdir()
        (start / "solution.py").write_text(BROKEN)
        work = await held.enter_async_context(self._provider.stage(start))
        layers = [Layer(work, "/work", "overlay")]
        for extra in self._extras:
            folder = await held.enter_async_context(self._provider.stage(extra))
            layers.append(Layer(folder, f"/{extra.name}"))
        return base_template(layers=tuple(layers), limits=Limits(memory=256 << 20, processes=64))
