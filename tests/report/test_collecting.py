"""Which files are the grades of a place, and that what an agent left is never one."""

from __future__ import annotations

from pathlib import Path

import pytest

from rubricgrade.errors import InputError
from rubricgrade.report.collecting import collect
from rubricgrade.result import Subject
from rubricgrade.store.grades import write_grade
from tests.report.made import HASH, grade


def test_the_latest_grade_of_every_episode_and_those_without(tmp_path: Path) -> None:
    for name, score in (("run/t1/0", 0.25), ("run/t1/0", 0.5), ("run/t2/0", 1.0)):
        write_grade(grade(score), tmp_path / name)
    (tmp_path / "run/t3/0").mkdir(parents=True)
    (tmp_path / "run/t3/0/trajectory.json").write_text("{}")
    found = collect(tmp_path / "run")
    assert [(entry.name, entry.grade.score) for entry in found.entries] == [("t1/0", 0.5), ("t2/0", 1.0)]
    assert (found.name, found.without) == ("run", ("t3/0",))


def test_a_file_and_an_episode_go_by_the_trajectory(tmp_path: Path) -> None:
    file = write_grade(grade(1.0), tmp_path / "e")
    assert [entry.name for entry in collect(file).entries] == ["episode-1"]
    assert [entry.name for entry in collect(tmp_path / "e").entries] == ["episode-1"]


def test_what_the_agent_left_and_what_a_link_leads_to_is_no_grade(tmp_path: Path) -> None:
    forged = grade(1.0, trajectory=Subject(id="forged", hash=HASH))
    write_grade(grade(0.0), tmp_path / "run/e")
    write_grade(forged, tmp_path / "run/e/workspace")
    (tmp_path / "run/ungraded/workspace").mkdir(parents=True)
    (tmp_path / "run/ungraded/trajectory.json").write_text("{}")
    write_grade(forged, tmp_path / "run/ungraded/workspace")
    write_grade(forged, tmp_path / "elsewhere")
    (tmp_path / "run/led").mkdir()
    (tmp_path / "run/led/grades").symlink_to(tmp_path / "elsewhere/grades")
    (tmp_path / "run/away").symlink_to(tmp_path / "elsewhere")
    found = collect(tmp_path / "run")
    assert [entry.grade.trajectory.id for entry in found.entries] == ["episode-1"]
    assert found.without == ("ungraded",)


def test_nothing_to_report(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        collect(tmp_path / "none")
    with pytest.raises(InputError, match="no grade in this folder"):
        collect(tmp_path)
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(InputError, match="is no grade file"):
        collect(tmp_path / "x.json")
