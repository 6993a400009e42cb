"""An episode that is named twice counts once; different ones with one id count, and are named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rubricgrade.cli.episodes import find_trajectories, same_ids
from tests.cli.program import SAYS_TOTAL, run, write_episode, write_rubric


@pytest.fixture
def episode(tmp_path: Path) -> Path:
    return write_episode(tmp_path / "all" / "e1")


def test_one_file_by_many_paths_is_one_episode(tmp_path: Path, episode: Path) -> None:
    (tmp_path / "link").symlink_to(episode)
    twice: list[str] = []
    paths = [episode.parent, episode, episode / "trajectory.json", tmp_path / "link", tmp_path / "all" / ".." / "all"]
    found = find_trajectories(paths, twice=twice)
    assert [each.path for each in found] == [episode]
    assert twice == [
        f"{episode} is named twice, and counts once",
        f"{episode / 'trajectory.json'} is the same file as {episode}, and counts once",
        f"{tmp_path / 'link'} is the same file as {episode}, and counts once",
        f"{tmp_path / 'all' / '..' / 'all' / 'e1'} is the same file as {episode}, and counts once",
    ]
    assert same_ids(found) is None


def test_one_id_in_several_places_is_named_with_all_of_them(tmp_path: Path, episode: Path) -> None:
    other = write_episode(tmp_path / "other", reply="Something else.", name="e1")
    told = same_ids(find_trajectories([episode, other]))
    assert told == f"different trajectories have one id, and all of them count: 'e1' is {episode}, {other}"
    copy = shutil.copytree(episode, tmp_path / "copy")
    told = same_ids(find_trajectories([episode, copy]))
    assert told == (
        f"different trajectories have one id, and all of them count: 'e1' is {episode}, {copy}, with the same content"
    )


def test_of_many_ids_a_few_are_named(tmp_path: Path) -> None:
    paths = [write_episode(tmp_path / top / f"e{number}") for top in ("a", "b") for number in range(5)]
    told = same_ids(find_trajectories(paths)) or ""
    assert (told.count("; "), told.endswith("; and 2 more ids")) == (3, True)


def test_the_summary_counts_an_episode_once(tmp_path: Path, episode: Path) -> None:
    rubric = write_rubric(tmp_path / "r", criteria=[SAYS_TOTAL])
    done = run("grade", rubric, episode.parent, episode / "trajectory.json", "--no-store", "--json")
    assert done.code == 0, done.err
    assert done.json["summary"]["n"] == 1
    assert done.json["twice"] == [f"{episode / 'trajectory.json'} is the same file as {episode}, and counts once"]
    assert f"warning: {done.json['twice'][0]}" in done.err
