"""Beginning a rubric: the way of somebody who has read nothing but what the program prints, with no key."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rubricgrade import library
from rubricgrade.authoring.scaffolding import TEMPLATES, start_rubric
from rubricgrade.errors import InputError
from rubricgrade.loading import check_rubric, load_rubric
from rubricgrade.store.recorded import RECORDED, read_verdicts
from tests.authoring.calling import run
from tests.cli.program import environment


@pytest.mark.parametrize("template", [*TEMPLATES, "bug-fix"])
def test_every_template_is_a_clean_rubric_with_the_name_of_its_folder(tmp_path: Path, template: str) -> None:
    made = start_rubric(tmp_path / "my task 2", template)
    assert check_rubric(tmp_path / "my task 2") == []
    assert load_rubric(tmp_path / "my task 2").id == "my-task-2"
    assert {each.rubric for each in read_verdicts(tmp_path / "my task 2" / RECORDED)} == {"my-task-2"}
    assert {"rubric.yaml", "README.md", "test_rubric.py", "rubric.schema.json", "verdicts.jsonl"} <= set(map(str, made))


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(InputError, match="is not empty"):
        start_rubric(tmp_path, "coding")
    with pytest.raises(InputError, match="did you mean 'coding'") as error:
        start_rubric(tmp_path / "new", "codin")
    for name in (*TEMPLATES, *(rubric.name for rubric in library.ready("rubrics"))):
        assert re.search(rf"[ ,]{name}\b", str(error.value))
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_from_nothing_to_a_graded_episode(tmp_path: Path) -> None:
    done = run("init", "my-task", "--template", "office", cwd=tmp_path)
    assert done.code == 0, done.err
    folder = tmp_path / "my-task"
    readme = (folder / "README.md").read_text()
    commands = re.findall(r"^    (rubricgrade .*)$", readme, re.MULTILINE)
    assert [command.split()[1] for command in commands] == ["lint", "preview", "test", "grade"]
    for command in commands:
        done = run(*command.split()[1:], cwd=folder)
        assert done.code == 0, f"{command}\n{done.out}{done.err}"
        assert "warning:" not in done.err
    # What the author then does: a criterion of his own, decided by code, that a bad example must miss.
    rubric = folder / "rubric.yaml"
    own = (
        "criteria:\n  - id: names-the-price\n    points: 2\n    description: the memo names the price\n"
        "    check: {contains: {path: memo.md, text: '2,880'}}\n"
        "    examples:\n      - {trajectory: examples/good, expect: met}\n      - {trajectory: examples/bad, expect: not_met}\n\n"
    )
    rubric.write_text(rubric.read_text().replace("criteria:\n", own, 1))
    wrong = run("test", ".", "-c", "names-the-price", cwd=folder)
    assert wrong.code == 1
    assert "names-the-price: expected not_met, found met, on examples/bad" in wrong.out
    (folder / "examples/bad/workspace/memo.md").write_text("# Memo\n\nTODO\n")
    assert run("test", ".", "-c", "names-the-price", cwd=folder).code == 0
    # The other questions about the changed episode are new ones: open, with what to do about it.
    changed = run("test", ".", cwd=folder)
    assert changed.code == 3
    assert "--judge MODEL" in changed.out


def test_its_test_file_is_a_test(tmp_path: Path) -> None:
    start_rubric(tmp_path / "x", "coding")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_rubric.py"],
        cwd=tmp_path / "x",
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
