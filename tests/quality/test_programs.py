"""A whole program's sealed inputs: visible with their outputs in tests, notes or files, or only seemingly."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.episode.task import Task
from rubricgrade.quality.leaks import given_away
from rubricgrade.quality.programs import Run, run_of, shown_at
from rubricgrade.quality.records import Doubt
from rubricgrade.rubric.check import Cases
from rubricgrade.sandbox import default_provider
from tests.quality.test_quality import write_task

CALC = {"args": ["1 + 2"], "stdout": "3\n"}
SUM = {"stdin": "12\n30\n", "stdout": "42\n"}
COUNT = {"args": ["--count"], "files": {"in.csv": "name,pay\nann,10\nben,20\n"}, "lines": ["rows: 2", "pay: 30"]}


def run(case: Mapping[str, Any]) -> Run:
    spec = Cases.model_validate({"file": "sealed/cases.json", "program": ["python", "calc.py"]})
    made = run_of(spec, case)
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("case", "text"),
    [
        (CALC, "Example:\n\n    $ python calc.py '1 + 2'\n    3\n"),
        (CALC, "def test_sum():\n    assert calc(['1 + 2']) == '3'\n"),
        (CALC, 'CASES = [(["1 + 2"], "3\\n")]'),
        (CALC, "It gives 3 for 1 + 2."),
        (SUM, 'assert out(input="12\\n30\\n") == "42\\n"'),
        (SUM, "12\n30\n\ngives\n\n42\n"),
        (COUNT, "with --count and\n\nname,pay\nann,10\nben,20\n\nit prints\n\nrows: 2\npay: 30\n"),
        (COUNT, 'run(["--count"], "name,pay\\nann,10\\nben,20\\n") == ["rows: 2", "pay: 30"]'),
    ],
)
def test_an_input_with_its_output_is_shown(case: Mapping[str, Any], text: str) -> None:
    place = shown_at(run(case), {"tests/test_x.py": text}, {})
    assert place is not None
    assert place.startswith("tests/test_x.py:")


@pytest.mark.parametrize(
    ("case", "text"),
    [
        (CALC, "    $ python calc.py '1 + 2'\n"),  # without its output
        (CALC, "    $ python calc.py '11 + 2'\n    3\n"),  # part of another
        (CALC, "    $ python calc.py '1 + 2'\n    3.5\n"),
        (CALC, "'1 + 2'" + "\n" * 600 + "3"),  # far apart
        ({"args": ["2"], "stdout": "4"}, "2. twice\n4. four times\n"),  # by chance
        ({"args": ["hello"], "stdout": "hello"}, "say hello"),  # the output is the input itself
        (COUNT, "name,pay\nann,10\nben,20\n\nrows: 2\npay: 30\n"),  # of other arguments
    ],
)
def test_what_only_looks_like_it_is_not_shown(case: Mapping[str, Any], text: str) -> None:
    assert shown_at(run(case), {"README.md": text}, {}) is None


def test_files_may_be_input_and_output() -> None:
    files = {"data/1.in": "12\n30\n", "data/1.out": "42\n", "notes.txt": "12 30"}
    assert shown_at(run(SUM), {}, files) == "data/1.in:1 with data/1.out"
    assert shown_at(run(SUM), {}, {"data/1.in": "12\n30\n"}) is None


@pytest.mark.parametrize("case", [{"args": ["x"], "exit_code": 2}, {"stdout": "always"}])
def test_a_case_without_a_secret_is_none(case: Mapping[str, Any]) -> None:
    spec = Cases.model_validate({"file": "sealed/cases.json", "program": ["python", "calc.py"]})
    assert run_of(spec, case) is None


def test_a_task_whose_readme_gives_most_of_them_away_is_leaking(tmp_path: Path) -> None:
    def found(name: str, *cases: Mapping[str, Any]) -> list[Any]:
        check = {"cases": {"file": "sealed/cases.json", "program": ["python", "calc.py"]}}
        rubric = {"id": "r", "criteria": [{"id": "works", "description": "it adds", "points": 1, "check": check}]}
        more = {
            "tests/sealed/cases.json": json.dumps(cases),
            "environment/files/README.md": "# calc\n\n    $ python calc.py '1 + 2'\n    3\n",
        }
        task = Task.load(write_task(tmp_path / name, more, rubric=rubric))

        async def all_of() -> list[Any]:
            return [each async for each in given_away(task, default_provider())]

        return asyncio.run(all_of())

    (doubt,) = found("leaking", CALC, SUM)
    assert isinstance(doubt, Doubt)
    assert doubt.what == "1 of 2 hidden inputs of works are visible, with their values"
    assert doubt.evidence == ("python calc.py '1 + 2': tests/sealed/cases.json case 1, and README.md:3",)
    assert found("sound", CALC, SUM, COUNT) == []
