"""An episode names what it left by hash: files that were put in its place are not graded as the agent's."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from rubricgrade import grade, load_trajectory, tree
from rubricgrade.errors import TrajectoryError
from rubricgrade.result import Grade
from rubricgrade.rubric import Rubric
from tests.episode.making import ANSWER, EXAMPLES, play, write, write_task

MAILED = {
    "id": "mailed",
    "description": "the CFO has a mail",
    "points": 1,
    "check": {"mail": {"to": "cfo@acme.test"}},
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An episode with a workspace and a world."""
    folder = tmp_path_factory.mktemp("kept") / "episode"
    play(EXAMPLES / "travel-mis", "oracle", folder)
    return folder


@pytest.fixture
def episode(kept: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept, tmp_path / "episode"))


def graded(folder: Path, *criteria: dict[str, Any]) -> Grade:
    return grade(folder, Rubric.build({"id": "r", "criteria": [*criteria]}, {}))


def test_what_an_episode_left_is_named_and_grades_again_elsewhere(episode: Path) -> None:
    trajectory = load_trajectory(episode)
    assert trajectory.workspace_hash == tree.identity(episode / "workspace.tar.zst")
    assert trajectory.world_hash == tree.identity(episode / "world")
    again = graded(episode, MAILED)
    assert (again.score, again.workspace) == (1, trajectory.workspace_hash)


def test_another_world_is_open_and_names_both_hashes(episode: Path) -> None:
    (episode / "world" / "outbox" / "late.eml").write_text("To: somebody@acme.test\n\nHello")
    grade = graded(episode, MAILED)
    assert (grade.status, grade.cause, grade.bounds) == ("ungraded", "trajectory_invalid", (0, 1))
    said = grade.criteria[0].message
    assert str(load_trajectory(episode).world_hash) in said
    assert tree.identity(episode / "world") in said


@pytest.mark.parametrize("form", ["archive", "folder"])
def test_another_workspace_is_open(tmp_path: Path, form: str) -> None:
    episode = tmp_path / "episode"
    play(write_task(tmp_path / "task"), "nop", episode)
    assert graded(episode, ANSWER).score == 0
    better = write(tmp_path / "better", {"answer.txt": "42"})
    (episode / "workspace.tar.zst").unlink()
    if form == "archive":
        tree.pack(better, episode / "workspace.tar.zst")
    else:
        better.rename(episode / "workspace")
    grade = graded(episode, ANSWER)
    assert (grade.status, grade.score, grade.cause) == ("ungraded", None, "trajectory_invalid")
    assert "workspace_hash" in grade.criteria[0].message


def test_whoever_means_it_takes_the_hash_out(tmp_path: Path) -> None:
    episode = tmp_path / "episode"
    play(write_task(tmp_path / "task"), "nop", episode)
    tree.pack(write(tmp_path / "better", {"answer.txt": "42"}), episode / "workspace.tar.zst")
    document = json.loads((episode / "trajectory.json").read_text())
    del document["workspace_hash"]
    (episode / "trajectory.json").write_text(json.dumps(document))
    assert graded(episode, ANSWER).score == 1


def test_a_hash_that_is_none_is_a_fault_of_the_file(episode: Path) -> None:
    document = json.loads((episode / "trajectory.json").read_text())
    (episode / "trajectory.json").write_text(json.dumps({**document, "workspace_hash": "sha256:1"}))
    with pytest.raises(TrajectoryError, match="workspace_hash"):
        load_trajectory(episode)
