"""Where an episode's workspace and world lie, and that nothing outside its folder is ever reached."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rubricgrade.errors import TrajectoryError
from rubricgrade.readers import load_trajectories, load_trajectory, write_trajectory
from rubricgrade.trajectory import Step, Trajectory
from tests.readers.made import USER, codes, written

PLAIN = Trajectory(id="x", steps=(Step(role="user"),))


def own(**more: Any) -> Any:
    return {"schema": "rubricgrade.trajectory/1", "id": "x", "steps": [{"role": "user"}], **more}


@pytest.mark.parametrize("by", ["file", "folder", "text"])
def test_workspace_and_world_beside_a_trajectory(tmp_path: Path, by: Any) -> None:
    file = write_trajectory(PLAIN, tmp_path)
    (tmp_path / "workspace").mkdir()
    (tmp_path / "world").mkdir()
    trajectory = load_trajectory({"file": file, "folder": tmp_path, "text": str(tmp_path)}[by])
    assert trajectory.folder == tmp_path
    assert trajectory.workspace == tmp_path / "workspace"
    assert trajectory.world == tmp_path / "world"


def test_a_packed_workspace_and_no_world(tmp_path: Path) -> None:
    write_trajectory(PLAIN, tmp_path)
    (tmp_path / "workspace.tar.zst").write_bytes(b"")
    trajectory = load_trajectory(tmp_path)
    assert (trajectory.workspace, trajectory.world) == (tmp_path / "workspace.tar.zst", None)


def test_two_workspaces_are_a_warning(tmp_path: Path) -> None:
    write_trajectory(PLAIN, tmp_path)
    (tmp_path / "workspace.tar.zst").write_bytes(b"")
    (tmp_path / "workspace").mkdir()
    trajectory = load_trajectory(tmp_path)
    assert trajectory.workspace == tmp_path / "workspace"
    assert codes(trajectory) == ["workspace"]


def test_any_format_can_be_an_episode(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    written(tmp_path, [USER], "trajectory.json")
    trajectory = load_trajectory(tmp_path)
    assert trajectory.workspace == tmp_path / "workspace"
    assert trajectory.id == tmp_path.name


def test_a_file_with_another_name_is_not_an_episode_folder(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    trajectory = load_trajectory(write_trajectory(PLAIN, tmp_path / "other.json"))
    assert (trajectory.folder, trajectory.workspace, trajectory.world) == (None, None, None)


def test_many_episodes_in_a_file_have_no_folder(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    written(tmp_path, [{"messages": [USER]}] * 2, "trajectory.json")
    assert [(one.folder, one.workspace) for one in load_trajectories(tmp_path)] == [(None, None)] * 2


def test_a_trial_of_harbor(tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    written(
        tmp_path / "agent",
        {"schema_version": "ATIF-v1.7", "steps": [{"source": "user", "message": "x"}]},
        "trajectory.json",
    )
    assert load_trajectory(tmp_path).steps[0].text == "x"


def test_our_format_may_name_its_places(tmp_path: Path) -> None:
    (tmp_path / "left" / "files").mkdir(parents=True)
    (tmp_path / "outside-world").mkdir()
    file = written(tmp_path, own(workspace="left/files", world="outside-world"), "a.json")
    trajectory = load_trajectory(file)
    assert (trajectory.folder, trajectory.workspace) == (None, tmp_path / "left" / "files")
    assert trajectory.world == tmp_path / "outside-world"
    again = load_trajectory(write_trajectory(trajectory, tmp_path / "b.json"))
    assert (again.workspace, again.world) == (trajectory.workspace, trajectory.world)


@pytest.mark.parametrize("name", ["../x", "/etc", "a/../../x", "", ".", "missing", "file.txt", 5, "a\0b"])
@pytest.mark.parametrize("key", ["workspace", "world"])
def test_places_outside_the_folder_or_not_there_are_refused(tmp_path: Path, key: Any, name: Any) -> None:
    (tmp_path / "x").mkdir()
    home = tmp_path / "home"
    home.mkdir()
    (home / "file.txt").write_text("x")
    with pytest.raises(TrajectoryError, match=r"leads out of the folder|there is no"):
        load_trajectory(written(home, own(**{key: name}), "a.json"))


@pytest.mark.parametrize("name", ["workspace", "workspace.tar.zst", "world"])
def test_symbolic_links_are_refused(tmp_path: Path, name: Any) -> None:
    home = tmp_path / "home"
    home.mkdir()
    write_trajectory(PLAIN, home)
    (home / name).symlink_to(tmp_path)
    with pytest.raises(TrajectoryError, match="symbolic link"):
        load_trajectory(home)


def test_a_link_on_the_way_is_refused_too(tmp_path: Path) -> None:
    (tmp_path / "secret" / "ws").mkdir(parents=True)
    home = tmp_path / "home"
    home.mkdir()
    (home / "way").symlink_to(tmp_path / "secret")
    with pytest.raises(TrajectoryError, match="symbolic link"):
        load_trajectory(written(home, own(workspace="way/ws"), "a.json"))


def test_a_workspace_that_is_neither_folder_nor_archive_is_none(tmp_path: Path) -> None:
    write_trajectory(PLAIN, tmp_path)
    (tmp_path / "workspace").write_text("no folder")
    assert load_trajectory(tmp_path).workspace is None
