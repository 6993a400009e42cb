"""Points, rates and scores of a report, added up anew from grades of rubrics with everything in them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricgrade.grading.assembly import assemble
from rubricgrade.report.arithmetic import possible, score_lines
from rubricgrade.report.collecting import Collected, Entry
from rubricgrade.report.html import html_report
from rubricgrade.report.markdown import markdown_report
from rubricgrade.report.overview import Overview, missed, overview, points_told
from rubricgrade.result import CriterionResult, GateResult, Grade, Isolation
from rubricgrade.rubric import Criterion, Rubric
from rubricgrade.trajectory import Trajectory
from tests.random_rubrics import asked, item, rubric, rubrics

EPISODE = Trajectory.model_validate(
    {"id": "e", "steps": [{"role": "user", "content": [{"type": "text", "text": "go"}]}]}
)
VALUES = st.one_of(st.none(), st.sampled_from([0.0, 0.25, 1.0]))


def graded(of: Rubric, values: Mapping[str, float | None]) -> Grade:
    """What grading makes of these values; what has none was the grader's fault."""

    def result(criterion: Criterion, *, inside: bool = True) -> CriterionResult:
        applies = inside and of.applies(criterion)
        parts = tuple(result(part, inside=applies) for part in criterion.criteria or ())
        applies = applies and (not parts or any(part.verdict != "not_applicable" for part in parts))
        value = None if parts or not applies else values[criterion.id]
        verdict = "not_applicable" if not applies else "error" if value is None else f"value {value}"
        return CriterionResult(
            id=criterion.id,
            description="d",
            by="criteria" if parts else "check",
            points=criterion.points,
            veto=criterion.veto,
            parts=parts,
            value=value,
            verdict=verdict,
            cause="check_error" if verdict == "error" else None,
        )

    gates = [
        GateResult(
            id=each.id,
            description="g",
            at_least=each.at_least or 1,
            value=values[each.id],
            verdict="error" if values[each.id] is None else "met",
            cause="check_error" if values[each.id] is None else None,
        )
        for each in of.gates
    ]
    return assemble(
        of, EPISODE, gates, list(map(result, of.tops)), judge=None, workspace=None, isolation=Isolation(), seconds=1
    )


def report(grades: Sequence[Grade]) -> Overview:
    return overview(Collected("run", tuple(Entry(f"e{number}", each) for number, each in enumerate(grades))))


@st.composite
def runs(draw: st.DrawFn) -> list[Grade]:
    of = draw(rubrics())
    return [graded(of, {name: draw(VALUES) for name in asked(of)}) for _ in range(draw(st.integers(1, 4)))]


@given(runs())
def test_won_and_lost_add_up_to_the_scores(grades: list[Grade]) -> None:
    run = report(grades)
    scored = [(each, each.ratio) for each in grades if each.status == "graded" and each.ratio is not None]
    worth = [possible(each) for each, _ in scored]
    earned = math.fsum(ratio * most for (_, ratio), most in zip(scored, worth, strict=True))
    if any(worth):
        assert run.points.possible == pytest.approx(math.fsum(worth))
        assert run.points.possible - run.points.lost == pytest.approx(earned, abs=1e-9)
    assert math.fsum(each.won for each in run.items) == pytest.approx(run.points.won)
    assert math.fsum(each.lost for each in run.items) == pytest.approx(run.points.lost)


@given(runs())
def test_rates_are_counts_of_what_stands_in_the_grades(grades: list[Grade]) -> None:
    def walk(results: Sequence[CriterionResult]) -> Iterator[CriterionResult]:
        for each in results:
            yield each
            yield from walk(each.parts)

    for row in report(grades).items:
        found = [each for grade in grades for each in (*grade.gates, *walk(grade.criteria)) if each.id == row.id]
        known = [each.value for each in found if each.value is not None and each.verdict != "not_applicable"]
        assert row.decided == len(known)
        assert row.mean == (pytest.approx(math.fsum(known) / len(known)) if known else None)
        assert row.applied == row.decided + sum(row.causes.values())


@given(runs())
def test_what_is_below_one_names_what_it_missed(grades: list[Grade]) -> None:
    run = report(grades)
    for entry in run.entries:
        if entry.grade.score is not None and entry.grade.score < 1 - 1e-9:
            assert missed(entry)


def test_a_group_has_the_points_and_its_parts_have_none() -> None:
    group = item("group", 4, full_at=2, criteria=[item("one", 1), item("two", 1), item("bad", -1)])
    of = rubric(item("top", 3), item("rude", -2), group, item("leak", None, veto=True))
    sums = {"top": 1.0, "rude": 1.0, "one": 1.0, "two": 1.0, "bad": 1.0, "leak": 0.0}
    stopped, open_ = sums | {"leak": 1.0}, sums | {"top": None}
    run = report([graded(of, values) for values in (sums, stopped, open_)])
    rows = {row.label: row for row in run.items}
    assert list(rows) == ["top", "rude", "group", "group > one", "group > two", "group > bad", "leak"]
    assert [(rows[name].points, rows[name].won, rows[name].lost) for name in ("top", "rude", "group")] == [
        (3, 3, 0),
        (-2, 0, 2),
        (4, 2, 2),
    ]
    assert (rows["group > one"].points, rows["group > one"].met, rows["group > bad"].costs) == (None, 3, True)
    assert [each.id for each in missed(run.entries[0])] == ["rude", "group", "bad"]
    assert points_told(run.points).startswith("Points are of the graded episode: 7 possible - 4 lost = 3, before")
    assert run.entries[0].grade.score == pytest.approx(3 / 7)
    text = markdown_report(run)
    assert "| **all** | 7 | | 5 | 4 | |" in text
    assert re.search(r'<tfoot>.*all points</th><td class="number">7<.*>5<.*>4<', html_report(run))


def test_points_out_of_everybodys_reach_are_not_possible_ones() -> None:
    parts = [item("good", 1, when="vars.x"), item("bad", -1)]
    of = rubric(item("top", 3), item("group", 5, criteria=parts), vars={"x": False})
    run = report([graded(of, {"top": 1.0, "good": None, "bad": 1.0})])
    assert run.entries[0].grade.score == 1
    assert (run.points.possible, run.points.lost) == (3, 0)
    assert score_lines(run.entries[0].grade) == ["3 = 3 of 3 -> 1"]


def test_without_a_graded_episode_no_points_are_told() -> None:
    run = report([graded(rubric(item("top", 3)), {"top": None})])
    assert "| top | 3 | 0/0 |  |  | 1 check_error |" in markdown_report(run)
    assert "possible" not in markdown_report(run)
    assert "possible" not in html_report(run)


def test_items_of_different_rubrics_are_apart_even_with_one_name() -> None:
    one, two = rubric(item("works", 1)), rubric(item("works", 5), id="other")
    run = report([graded(one, {"works": 1.0}), graded(two, {"works": 0.0})])
    assert [(row.label, row.points, row.won, row.lost) for row in run.items] == [
        ("r: works", 1, 1, 0),
        ("other: works", 5, 0, 5),
    ]
    assert run.points.possible == 6


def test_a_group_that_waits_for_something_open_outside_of_it_is_open() -> None:
    of = rubric(item("x", 1), item("group", 2, criteria=[item("part", 1, needs=["x"])]))
    made = graded(of, {"x": None, "part": 1.0})
    assert (made.status, made.bounds) == ("ungraded", (0, 1))
    assert (made.criteria[1].cause, made.criteria[1].earned) == ("check_error", None)
    assert report([made]).points.episodes == 0


@pytest.mark.parametrize(("points", "more"), [(0, {}), (-3, {"when": "vars.x"})])
def test_a_group_is_decided_while_something_worth_nothing_is_open_in_it(points: float, more: dict[str, str]) -> None:
    inner = item("inner", 3, criteria=[item("quarter", 3)])
    group = item("group", 3, criteria=[inner, item("noted", 0), item("penalty", points, **more)])
    made = graded(rubric(group, vars={"x": False}), {"quarter": 0.25, "noted": None, "penalty": None})
    assert (made.status, made.score) == ("graded", 0.25)
    (top,) = made.criteria
    assert (top.verdict, top.value, top.earned, top.cause) == ("partly_met", 0.25, 0.75, None)
    assert (top.parts[1].verdict, top.parts[1].value, top.parts[1].cause) == ("error", None, "check_error")
    (row, *_) = report([made]).items
    assert (row.won, row.lost) == (0.75, 2.25)
