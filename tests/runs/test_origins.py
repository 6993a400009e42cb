"""A run that was sent, and whose tasks are others than it was made with: it is said before anything is spent."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import Ran, run
from tests.episode.making import write_task


@pytest.fixture
def sent(tmp_path: Path) -> Path:
    """A run that lies elsewhere than its task."""
    task = write_task(tmp_path / "mine" / "answer")
    done = run("run", task, "--agent", "nop", "-q", "-o", tmp_path / "run")
    assert done.code == 0, done.err
    return tmp_path / "run"


def change(folder: Path, **facts: Any) -> None:
    """Let ``run.json`` say something else about the task."""
    manifest = json.loads((folder / "run.json").read_text())
    manifest["tasks"]["answer"] |= facts
    (folder / "run.json").write_text(json.dumps(manifest))


def generous(task: Path) -> None:
    """Let the task's rubric give points for nothing."""
    file = task / "tests" / "rubric.yaml"
    text = file.read_text()
    assert "^42$" in text
    file.write_text(text.replace("^42$", "^"))


def planned(folder: Path, *options: str | Path) -> Ran:
    done = run("regrade", folder, "--dry-run", *options)
    assert done.code == 0, done.err
    return done


def test_a_run_whose_tasks_are_the_same_is_graded_without_a_word(sent: Path) -> None:
    assert "warning" not in planned(sent).err


def test_a_task_in_the_run_itself_is_named_whatever_the_hashes_say(sent: Path, tmp_path: Path) -> None:
    theirs = Path(shutil.copytree(tmp_path / "mine" / "answer", sent / "x" / "answer"))
    change(sent, path=str(theirs))
    said = f"warning: task answer in {theirs}: it lies in the run's own folder"
    assert said in planned(sent).err
    assert "another one" not in planned(sent).err
    assert said in planned(sent, "--rubric", tmp_path / "mine" / "answer" / "tests" / "rubric.yaml").err
    assert said in run("calibrate", sent).err
    generous(theirs)
    assert "its rubric is another one than the run was made with" in planned(sent).err


def test_a_link_to_the_run_does_not_hide_where_a_task_lies(sent: Path, tmp_path: Path) -> None:
    shutil.copytree(tmp_path / "mine" / "answer", sent / "x" / "answer")
    (tmp_path / "elsewhere").symlink_to(sent / "x")
    change(sent, path=str(tmp_path / "elsewhere" / "answer"))
    assert "it lies in the run's own folder" in planned(sent).err


def test_a_task_that_has_changed_is_named_with_its_folder(sent: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "answer"
    generous(mine)
    assert f"task answer in {mine}: its rubric is another one than the run was made with" in planned(sent).err
    assert "warning: task" not in planned(sent, "--rubric", mine / "tests" / "rubric.yaml").err


def test_hidden_files_that_have_changed_are_named(sent: Path, tmp_path: Path) -> None:
    (tmp_path / "mine" / "answer" / "tests" / "verdicts.jsonl").write_text("")
    assert "it is another one than the run was made with, though its rubric is the same" in planned(sent).err


def test_another_pass_mark_than_the_tasks_is_named(sent: Path) -> None:
    change(sent, pass_mark=0.25)
    assert "the run counts it as solved from 0.25, the task itself from 1" in planned(sent).err


def test_another_task_by_the_name_of_one_is_refused(sent: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(tmp_path / "mine" / "answer", tmp_path / "other"))
    change(sent, path=str(other))
    done = run("regrade", sent)
    assert done.code == 2
    assert "is not the task answer of this run" in done.err
