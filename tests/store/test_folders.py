"""What is written below a folder that somebody has named stays below it, whatever links lie there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rubricgrade.cli.reporting import report
from rubricgrade.errors import StoreError
from rubricgrade.runs.places.local import LocalPlace
from rubricgrade.store.grades import write_grade
from rubricgrade.store.recorded import write_verdicts
from tests.cli.program import run, write_episode
from tests.report.made import criterion, grade


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    place = tmp_path / "outside"
    place.mkdir()
    (place / "grades").mkdir()
    return place


def led(tmp_path: Path, link: str, outside: Path) -> Path:
    """A folder in which a link leads out."""
    at = tmp_path / "named" / link
    at.parent.mkdir(parents=True)
    at.symlink_to(outside)
    return tmp_path / "named"


LINKS = [("e", "e"), ("t", "t/0"), ("t/0", "t/0"), ("t/0/grades", "t/0")]


@pytest.mark.parametrize(("link", "path"), LINKS)
def test_a_grade_does_not_follow_a_link(tmp_path: Path, outside: Path, link: str, path: str) -> None:
    named = led(tmp_path, link, outside)
    with pytest.raises(StoreError, match="is a link or no folder"):
        LocalPlace(named).below(path).write_grade(grade(1.0))
    assert [each.name for each in outside.rglob("*")] == ["grades"]


@pytest.mark.parametrize(("link", "path"), LINKS[:-1])
def test_nor_does_any_other_file(tmp_path: Path, outside: Path, link: str, path: str) -> None:
    named = led(tmp_path, link, outside)
    with pytest.raises(StoreError, match="is a link or no folder"):
        LocalPlace(named).below(path).write("x.sources.json", b"{}")
    assert [each.name for each in outside.rglob("*")] == ["grades"]


@pytest.mark.parametrize("link", ["t", "t/0"])
def test_nor_is_an_attempt_begun_behind_one(tmp_path: Path, outside: Path, link: str) -> None:
    named = led(tmp_path, link, outside)
    with pytest.raises(StoreError, match="is a link or no folder"), LocalPlace(named).claim("t", 0):
        pass
    assert [each.name for each in outside.rglob("*")] == ["grades"]


def test_a_path_that_leads_upwards_is_refused(tmp_path: Path) -> None:
    (tmp_path / "named").mkdir()
    with pytest.raises(StoreError, match="leads out of"):
        LocalPlace(tmp_path / "named").below("../elsewhere").write_grade(grade(1.0))
    with pytest.raises(StoreError, match="leads out of"):
        LocalPlace(tmp_path / "named").below("../elsewhere").write("x.json", b"{}")
    assert [each.name for each in tmp_path.iterdir()] == ["named"]


def test_the_named_folder_may_be_a_link_and_missing_ones_are_made(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "named").symlink_to(outside)
    place = LocalPlace(tmp_path / "named").below("t/0")
    place.write("x.json", b"{}")
    written = place.write_grade(grade(1.0))
    again = place.write_grade(grade(0.0))
    assert [Path(each).parent for each in (written, again)] == [tmp_path / "named/t/0/grades"] * 2
    assert (outside / "t/0/x.json").read_bytes() == b"{}"
    assert [each.score for each in place.history("")] == [1.0, 0.0]


def test_without_a_named_folder_above_it_the_episodes_own_may_be_a_link(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "latest").symlink_to(outside)
    assert write_grade(grade(1.0), tmp_path / "latest").is_file()
    assert write_grade(grade(1.0), tmp_path / "deep/er/than").is_file()


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "e").write_text("x")
    with pytest.raises(StoreError, match="e/grades: "):
        LocalPlace(tmp_path).below("e").write_grade(grade(1.0))


def test_no_page_and_no_verdicts_are_written_through_a_link(tmp_path: Path, outside: Path) -> None:
    """The names of what is being written could be known, so links could lie ready under them."""
    write_grade(grade(1.0, criteria=(criterion("c", 1, 1.0),)), tmp_path / "run/e")
    (outside / "kept.txt").write_text("kept")
    for name in ("report.html", f".report.html.{os.getpid()}", "v.jsonl", f".v.jsonl.{os.getpid()}"):
        (tmp_path / "run" / name).symlink_to(outside / "kept.txt")
    report(str(tmp_path / "run"))
    write_verdicts(tmp_path / "run/v.jsonl", [])
    assert (outside / "kept.txt").read_text() == "kept"
    assert "<html" in (tmp_path / "run/report.html").read_text()


def test_a_link_to_where_grades_go_is_found_before_anything_is_graded(tmp_path: Path, outside: Path) -> None:
    episode = write_episode(tmp_path / "first", a__txt="x")
    rubric = tmp_path / "rubric.yaml"
    rubric.write_text('{"id": "r", "gates": [{"id": "a", "description": "d", "check": {"exists": "a.txt"}}]}')
    named = led(tmp_path, "first", outside)
    done = run("grade", rubric, episode, "-o", named)
    assert (done.code, done.out) == (2, "")
    assert f"{named}/first: is a link, and none is followed to where grades go: remove it" in done.err
    (episode / "grades").symlink_to(outside)
    beside = run("grade", rubric, episode)
    assert (beside.code, beside.out) == (2, "")
    assert f"{episode}/grades: is a link" in beside.err
    assert [each.name for each in outside.rglob("*")] == ["grades"]
    assert run("grade", rubric, episode, "-o", tmp_path / "other").code == 0
