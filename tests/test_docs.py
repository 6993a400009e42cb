"""Documentation: rubrics in it lint, commands in it run, and nothing that it should list is missing."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from rubricgrade import library
from rubricgrade.errors import Fault
from rubricgrade.judge import JudgeOptions
from rubricgrade.loading import check_rubric, codes, read_data
from rubricgrade.loading.document import read_document
from rubricgrade.rubric import Rubric
from rubricgrade.rubric.base import Part
from tests.authoring.calling import run
from tests.cli.program import environment
from tests.cli.test_judge_options import JUDGING

ROOT = Path(__file__).parent.parent
DOCS = sorted((ROOT / "docs").rglob("*.md"))
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")

FILES = {
    "checks/report.py": "def total(case):\n    return True\n\n\ndef sources(case):\n    return []\n",
    "checks/compare.py": "def alike(found, expected):\n    return found == expected\n",
    "sealed/reference.md": "E-17, E-42\n",
    "sealed/expected.csv": "team,sum\nSales,10\n",
    "sealed/cases.json": '[{"args": ["1"], "expected": 1}]',
    "sealed/programs.json": '[{"stdin": "1", "stdout": "1"}]',
    "sealed/test_calc.py": "import calc\n\n\ndef test_adds():\n    assert calc.add(1, 2) == 3\n\n\ndef test_is_empty():\n    assert calc.of([]) == 0\n",
    "sealed/work/tests/test_calc.py": "from calc import is_empty\ndef test_is_empty():\n    assert is_empty('') == 1\n",
    "sealed/pytest.ini": "[pytest]\n",
    "examples/good/trajectory.json": '[{"role": "user", "content": "x"}]',
    "examples/bad/trajectory.json": '[{"role": "user", "content": "x"}]',
}


def blocks(language: str, mark: str) -> Iterator[Any]:
    for path in DOCS:
        text = path.read_text()
        for match in BLOCK.finditer(text):
            if match[1] == language and mark in match[2].split():
                line = text[: match.start()].count("\n") + 1
                yield pytest.param(match[3], id=f"{path.relative_to(ROOT / 'docs')}:{line}")


@pytest.mark.parametrize("text", list(blocks("yaml", "rubric")))
def test_a_rubric_in_the_docs_is_clean(text: str, tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    (tmp_path / "rubric.yaml").write_text(text)
    assert [str(fault) for fault in check_rubric(tmp_path)] == []


@pytest.mark.parametrize("path", DOCS, ids=lambda path: str(path.relative_to(ROOT / "docs")))
def test_yaml_in_the_docs_reads_as_it_says(path: Path) -> None:
    found = [match[3] for match in BLOCK.finditer(path.read_text()) if match[1] == "yaml"]
    assert [str(fault) for text in found for fault in read_document(text, path.name).faults] == []


@pytest.mark.parametrize("script", list(blocks("sh", "run")))
def test_commands_in_the_docs_run(script: str, tmp_path: Path) -> None:
    """A script of nothing but our program and ``cd``, line by line."""
    (tmp_path / "rubrics").symlink_to(ROOT / "rubrics")
    folder = tmp_path
    for line in script.splitlines():
        program, *arguments = shlex.split(line)
        if program == "cd":
            folder /= arguments[0]
            continue
        assert program == "rubricgrade"
        done = run(*arguments, cwd=folder)
        assert done.code == 0, f"{line}\n{done.out}{done.err}"


def test_the_tests_in_the_docs_pass(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "authoring.md").read_text()
    (script,) = (match[3] for match in BLOCK.finditer(text) if match[1] == "python")
    ast.parse(script)
    shutil.copytree(ROOT / "rubrics" / "research-report", tmp_path / "my-task")
    shutil.copytree(ROOT / "rubrics" / "research-report" / "examples" / "good", tmp_path / "episodes" / "one")
    (tmp_path / "test_docs_example.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "3 passed" in done.stdout, done.stdout


@pytest.mark.parametrize("path", DOCS, ids=lambda path: str(path.relative_to(ROOT / "docs")))
def test_what_the_docs_link_to_is_there(path: Path) -> None:
    assert [link for link in LINK.findall(path.read_text()) if not (path.parent / link).exists()] == []


def test_every_lint_code_is_explained() -> None:
    text = (ROOT / "docs" / "lint.md").read_text()
    known = {value for name, value in vars(codes).items() if name.isupper() and str(value).startswith("RG")}
    listed = re.findall(r"^\| (RG\d{3})", text, re.MULTILINE)
    assert sorted(listed) == sorted(known | {Fault("any").code})


def test_every_setting_of_a_judge_is_listed() -> None:
    text = (ROOT / "docs" / "judge.md").read_text("utf-8")
    table = text.partition("| option | in Python |")[2].partition("\n\n")[0]
    assert {*re.findall(r"`(\w+)`", table)} >= {each.name for each in fields(JudgeOptions)}
    assert {*re.findall(r"`(--judge[\w-]*)", table)} == {option for option in JUDGING if option.startswith("--judge")}


def test_every_ready_rubric_is_listed() -> None:
    text = (ROOT / "docs" / "authoring.md").read_text()
    assert set(re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE)) == {path.name for path in library.ready("rubrics")}


def test_every_key_of_a_rubric_has_an_example() -> None:
    text = (ROOT / "docs" / "rubric-keys.md").read_text()
    used = {
        key
        for match in BLOCK.finditer(text)
        if match[1] == "yaml"
        for key in keys(read_data(match[3].encode(), "docs"))
    }
    named = {(field.alias or name) for model in models(Rubric) for name, field in model.model_fields.items()}
    # These have a short form, in which their main key is left out.
    assert named - used <= {"function"}


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from keys(item)
    if isinstance(value, list):
        for item in value:
            yield from keys(item)


def models(start: type[BaseModel]) -> set[type[BaseModel]]:
    """A model and all that its fields can hold."""
    found: set[type[BaseModel]] = set()
    waiting: list[Any] = [start]
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, type) and issubclass(kind, Part):
            if kind not in found:
                found.add(kind)
                waiting += [field.annotation for field in kind.model_fields.values()]
        else:
            waiting += get_args(kind)
    return found
