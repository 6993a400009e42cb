"""What changed between two sets of grades: verdicts, scores, tasks, and what they rest on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rubricgrade.report.collecting import Entry
from rubricgrade.report.grade_changes import GradeChanges, grade_changes
from rubricgrade.result import Grade, Subject
from rubricgrade.store.grades import write_grade
from tests.cli.program import run
from tests.episode.making import EXAMPLES
from tests.report.made import HASH, criterion, gate, grade


def graded(content: str, score: float | None, *items: float | None, **more: Any) -> Grade:
    """Of a trajectory whose content is that letter."""
    facts: dict[str, Any] = {
        "trajectory": Subject(id=f"e{content}", hash=HASH[:-1] + content),
        "criteria": tuple(criterion(f"c{place}", 1, value, reasoning="because") for place, value in enumerate(items)),
        "gates": (gate("g", 1.0),),
        **more,
    }
    return grade(score, **facts)


def entries(**grades: Grade) -> list[Entry]:
    """By folder; an underscore stands for a slash."""
    return [Entry(name.replace("_", "/"), each) for name, each in grades.items()]


def test_verdicts_scores_and_statuses_of_the_same_episodes() -> None:
    before = entries(
        e1=graded("1", 1.0, 1, 1), e2=graded("2", 0.5, 1, 0), e3=graded("3", None, None, 1), e4=graded("4", 0.0, 0, 0)
    )
    after = entries(
        e1=graded("1", 0.5, 1, 0), e2=graded("2", 0.5, 0, 1), e3=graded("3", 1.0, 1, 1), e5=graded("5", 1.0, 1, 1)
    )
    found = grade_changes(before, after)
    assert (found.compared, found.paired, found.only_before, found.only_after) == ("episodes", 3, ("e4",), ("e5",))
    # An ungraded episode is in neither mean.
    assert (found.mean_before, found.mean_after, found.scored) == (0.75, 0.5, 2)
    # What had no score, or has none any more, is the largest change.
    assert [(each.episode, each.before, each.after) for each in found.moved] == [("e3", None, 1.0), ("e1", 1.0, 0.5)]
    assert found.statuses == {"ungraded -> graded": 1}
    assert [(each.episode, each.item, each.before, each.after) for each in found.flips] == [
        ("e1", "c1", "met", "not_met"),
        ("e2", "c0", "met", "not_met"),
        ("e2", "c1", "not_met", "met"),
    ]
    # Where a judge failed once, none has changed its mind.
    assert [(each.item, each.before, each.after) for each in found.one_sided] == [("c0", "not_run", "met")]
    assert found.by_item["c1"] == {"met -> not_met": 1, "not_met -> met": 1}
    assert (found.bases, found.verdicts, found.new_items) == ((), {}, ())


def test_the_item_and_the_task_with_the_largest_change_come_first() -> None:
    before = entries(a_0=graded("1", 1.0, 1, 1), b_0=graded("2", 1.0, 1, 1), b_1=graded("3", 1.0, 1, 1))
    after = entries(a_0=graded("1", 0.9, 0, 1), b_0=graded("2", 0.5, 1, 0), b_1=graded("3", 0.3, 1, 0))
    found = grade_changes(before, after)
    assert list(found.by_item) == ["c1", "c0"]
    assert [each.task for each in found.tasks] == ["b", "a", "overall"]
    first, second, overall = found.tasks
    assert first.counted == (2, 2)
    assert first.difference == pytest.approx(-0.6)
    assert first.interval == pytest.approx((-0.7, -0.5))
    # One value says nothing about its spread.
    assert second.interval is None
    # Every task counts alike.
    assert (overall.before, overall.after) == pytest.approx((1.0, 0.65))
    assert overall.counted == (3, 3)


def test_runs_of_other_episodes_are_compared_by_task() -> None:
    before = entries(a_0=graded("1", 0.0, 0), a_1=graded("2", 0.2, 0), b_0=graded("3", 0.5, 1))
    after = entries(a_0=graded("4", 1.0, 1), a_1=graded("5", None, None), c_0=graded("6", 1.0, 1))
    found = grade_changes(before, after)
    assert (found.compared, found.paired, found.flips, found.moved) == ("tasks", 0, (), ())
    # Only what both have, and what is ungraded is in no mean.
    (row,) = found.tasks
    assert (row.task, row.counted, row.after) == ("overall", (2, 1), 1.0)
    assert row.difference == pytest.approx(0.9)
    assert found.verdicts["c0"] == ({"not_met": 2, "met": 1}, {"met": 2, "not_run": 1})


def test_a_few_equal_episodes_do_not_make_two_runs_the_same() -> None:
    before = entries(a_0=graded("1", 0.0), a_1=graded("2", 0.2), a_2=graded("3", 0.5))
    after = entries(a_0=graded("1", 1.0), a_1=graded("5", 1.0), a_2=graded("6", 1.0))
    found = grade_changes(before, after)
    assert (found.compared, found.tasks[0].counted) == ("tasks", (3, 3))


def test_attempts_with_the_same_content_are_paired_by_name() -> None:
    before = entries(a_0=graded("1", 0.0), a_1=graded("1", 1.0))
    after = entries(a_1=graded("1", 1.0), a_0=graded("1", 0.0))
    found = grade_changes(before, after)
    assert (found.paired, found.moved) == (2, ())
    moved = grade_changes(before, entries(x_0=graded("1", 0.0), x_1=graded("1", 1.0)))
    assert (moved.paired, moved.moved) == (2, ())


def test_what_grades_rest_on() -> None:
    old, new = (
        Subject(id="report", hash=HASH[:-1] + end, version=version) for end, version in (("1", None), ("2", "2"))
    )
    judge = Subject(id="openai/x", hash=HASH)
    rest = {"criteria": (criterion("later", 1, 1.0),), "versions": {"rubricgrade": "2.0"}}
    found = grade_changes(
        entries(e=graded("1", 1.0, 1, rubric=old)), entries(e=graded("1", 1.0, rubric=new, judge=judge, **rest))
    )
    assert [(each.what, each.before, each.after) for each in found.bases] == [
        ("rubric", ("report 0123456789ab",), ("report (2) 0123456789ab",)),
        ("judge", ("none",), ("openai/x 0123456789ab",)),
        ("rubricgrade", ("unknown",), ("2.0",)),
    ]
    assert (found.new_items, found.gone_items) == (("later",), ("c0",))


def test_the_command_on_folders_and_files(tmp_path: Path) -> None:
    files = {
        name: [write_grade(graded(each, score, score), tmp_path / name / f"e{each}") for each in "12"]
        for name, score in (("one", 1.0), ("two", 0.0))
    }
    done = run("diff", tmp_path / "one", tmp_path / "two")
    assert done.code == 0, done.err
    assert "c0: 2 met -> not_met" in done.out
    assert "overall  2       1.000   0.000  -1.000  -1.000 to -1.000" in done.out
    assert "e1: 1 -> 0" in done.out
    assert "2 episodes on both sides: 2 scores moved, 2 verdicts flipped" in done.out
    found = GradeChanges.model_validate(run("diff", files["one"][0], files["two"][0], "--json").json)
    assert [each.episode for each in found.moved] == ["e1"]
    told = run("diff", tmp_path / "one", tmp_path / "two", "--verbose").out
    assert "  before: because" in told


def test_one_folder_against_what_its_grades_have_replaced(tmp_path: Path) -> None:
    other = Subject(id="report", hash=HASH[:-1] + "e", version="2")
    write_grade(graded("1", 1.0, 1), tmp_path / "e1")
    assert "was graded twice" in run("diff", tmp_path).err
    # A grading that was cut short and begun again is one change of the rubric, not two gradings.
    for _ in range(2):
        write_grade(graded("1", 0.0, 0, rubric=other), tmp_path / "e1")
    write_grade(graded("2", 1.0, 1), tmp_path / "e2")
    done = run("diff", tmp_path)
    assert "e1: 1 -> 0" in done.out
    assert "1 episode on both sides, 1 episode on one side only: 1 score moved, 1 verdict flipped" in done.out
    assert run("diff", next((tmp_path / "e2" / "grades").iterdir())).code == 2


def test_two_runs_of_two_agents(tmp_path: Path) -> None:
    for agent in ("oracle", "nop"):
        ran = run("run", EXAMPLES / "calc", "--agent", agent, "-q", "-o", tmp_path / agent)
        assert ran.code == 0, ran.err
    found = GradeChanges.model_validate(run("diff", tmp_path / "nop", tmp_path / "oracle", "--json").json)
    assert (found.compared, found.bases) == ("tasks", ())
    assert (found.tasks[0].before, found.tasks[0].after) == (0, 1)
