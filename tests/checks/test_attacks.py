"""Cheating: nothing earns more than the broken solution, nothing buys an open verdict, the honest one keeps it all."""

from __future__ import annotations

import asyncio
import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.checks import Outcome
from rubricgrade.sandbox import Layer, Limits, Provider, base_template
from tests.checks.attacks import BROKEN, CASES, FILES, HONEST, SOLUTIONS
from tests.checks.conftest import Ask, Episode, Files, write

CHECK = """
def check(case):
    right = 0
    for one in CASES:
        called = case.solution.call("solution.py:solve", *one["args"])
        right += called.raised is None and case.same(called.value, one["expected"])
    return right / len(CASES)
""".replace("CASES", repr(CASES))
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
        [{"stdin": json.dumps(one["args"][0]), "stdout": str(one["expected"])} for one in CASES]
    ),
    "check.py": CHECK,
}
SMALL = base_template(limits=Limits(memory=256 << 20, processes=64))


HURRIED = [{**check, "timeout": 1.5} for check in CHECKS]


def graded(ask: Ask, episode: Episode, checks: list[dict[str, Any]] = CHECKS) -> list[Outcome]:
    return ask.all(checks, sealed=SEALED, episode=episode, template=SMALL)


def earns_nothing(outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        assert outcome.fault != "grader", outcome
        assert not outcome.value, outcome


def test_the_honest_solution_keeps_its_full_score(ask: Ask) -> None:
    assert [outcome.value for outcome in graded(ask, Episode({"solution.py": HONEST}))] == [1.0] * 4


def test_the_broken_solution_earns_nothing(ask: Ask) -> None:
    earns_nothing(graded(ask, Episode({"solution.py": BROKEN})))


@pytest.mark.parametrize("name", SOLUTIONS)
def test_a_solution_that_cheats_earns_nothing(ask: Ask, name: str) -> None:
    earns_nothing(graded(ask, Episode({"solution.py": SOLUTIONS[name]}), HURRIED))


@pytest.mark.parametrize("name", FILES)
def test_files_beside_a_broken_solution_earn_nothing(ask: Ask, name: str) -> None:
    earns_nothing(graded(ask, Episode({"solution.py": BROKEN, **FILES[name]})))


def test_files_beside_an_honest_solution_take_nothing_from_calls(ask: Ask) -> None:
    files = {"solution.py": HONEST, **FILES["bring the reward"]}
    assert [outcome.value for outcome in graded(ask, Episode(files))] == [1.0] * 4


# --- The collection that the environment names ------------------------------------------------------------------------

COLLECTION = os.environ.get("RUBRICGRADE_ATTACKS", "")
SCRIPTS = sorted(Path(COLLECTION).glob("*.py")) if COLLECTION else []
HONEST_SCRIPTS = {"z_good", "e01_patch_time"}
"""A control, and an honest solution that cheats about its time only, which is not measured here."""
ANSWER = {"answer.txt": "42"}
ANSWER_CHECK = "def check(case):\n    return (case.workspace / 'answer.txt').read_text() == (case.sealed / 'answer.txt').read_text()\n"


@pytest.fixture(scope="module")
def left(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Runs a script as the agent, in a fork with the broken solution, and takes what it leaves."""

    async def run(code: bytes, extras: Files) -> bytes:
        folder = tmp_path_factory.mktemp("start")
        start = write(folder / "work", {"solution.py": BROKEN})
        data = write(folder / "data", extras)
        async with provider.stage(start) as work, provider.stage(data) as extra:
            layers = (Layer(work, "/work", "overlay"), Layer(extra, "/attack.d"))
            sandbox = await provider.open(base_template(layers=layers))
            try:
                await sandbox.exec(["python3", "-"], stdin=code, timeout=20)
                packed = await sandbox.exec(["tar", "-C", "/work", "-c", "."], limit=64 << 20)
                return packed.stdout
            finally:
                await sandbox.close()

    def take(script: Path) -> bytes:
        extras = {path.name: path.read_bytes() for path in (script.parent / "attack.d").glob("*")}
        return asyncio.run(run(script.read_bytes(), extras))

    return take


@pytest.mark.skipif(not SCRIPTS, reason="RUBRICGRADE_ATTACKS names no folder of attack scripts")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_collection(ask: Ask, left: Any, script: Path) -> None:
    def prepare(workspace: Path) -> None:
        with tarfile.open(fileobj=io.BytesIO(left(script))) as archive:
            archive.extractall(workspace, filter="fully_trusted")

    checks = [*(HURRIED if script.stem not in HONEST_SCRIPTS else CHECKS), {"python": "answer.py:check"}]
    sealed = {**SEALED, **ANSWER, "answer.py": ANSWER_CHECK}
    outcomes = ask.all(checks, sealed=sealed, episode=Episode(prepare=prepare), template=SMALL)
    if script.stem in HONEST_SCRIPTS:
        assert [outcome.value for outcome in outcomes[:4]] == [1.0] * 4
    else:
        earns_nothing(outcomes)
