"""Trajectories that can't be read, left out when that is asked for; and folders for grades, none of them shared."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.program import SAYS_TOTAL, run, write_episode, write_rubric


@pytest.fixture
def rubric(tmp_path: Path) -> Path:
    return write_rubric(tmp_path / "rubric", criteria=[SAYS_TOTAL])


def test_what_cannot_be_read_is_listed_and_the_rest_is_graded(tmp_path: Path, rubric: Path) -> None:
    good = write_episode(tmp_path / "episodes" / "good")
    (tmp_path / "episodes" / "torn").mkdir()
    (tmp_path / "episodes" / "torn" / "trajectory.json").write_text('{"schema": "rubricgrade.traj')
    assert run("grade", rubric, tmp_path / "episodes").code == 2
    assert not (good / "grades").exists()
    ran = run("grade", rubric, tmp_path / "episodes", "--skip-unreadable", "--min-score", "1")
    assert ran.code == 3
    assert "skipped: " in ran.err
    assert "torn/trajectory.json:1" in ran.err
    assert "what could not be read was skipped (1 fault)" in ran.out
    assert len(list((good / "grades").glob("*.json"))) == 1
    found = run("grade", rubric, tmp_path / "episodes", "--skip-unreadable", "--json", "--no-store").json
    assert (len(found["grades"]), len(found["skipped"]), found["summary"]["exit_code"]) == (1, 1, 3)


def test_the_other_lines_of_a_file_are_graded(tmp_path: Path, rubric: Path) -> None:
    line = json.dumps([{"role": "user", "content": "What did we spend?"}, {"role": "assistant", "content": "48.2"}])
    file = tmp_path / "episodes.jsonl"
    file.write_text(f"{line}\n{line}\n[1, 2]\n")
    ran = run("grade", rubric, file, "--skip-unreadable", "--no-store", "-q")
    assert (ran.code, "2 grades: 2 graded" in ran.out) == (3, True), ran.err


def test_nothing_left_to_grade_is_bad_input(tmp_path: Path, rubric: Path) -> None:
    (tmp_path / "torn.json").write_text("{")
    assert run("grade", rubric, tmp_path / "torn.json", "--skip-unreadable").code == 2


def test_the_same_episode_twice_has_two_folders(tmp_path: Path, rubric: Path) -> None:
    first = write_episode(tmp_path / "a" / "same")
    shutil.copytree(first, tmp_path / "b" / "same")
    other = write_episode(tmp_path / "c" / "same", reply="48.2, thank you.")
    ran = run("grade", rubric, first, tmp_path / "b" / "same", other, "-o", tmp_path / "out")
    assert ran.code == 0, ran.err
    assert len(list((tmp_path / "out").glob("*/grades/*.json"))) == 3
