from __future__ import annotations

from pathlib import Path

import pytest

from rubricgrade.loading import parse_rubric
from rubricgrade.review import acting
from rubricgrade.review.effective import Ruling, effective_grade, effective_score
from rubricgrade.review.web.waterfall import waterfall
from tests.review.acts import decide, item_of
from tests.review.made import Made, Said, desk_of, steps, write_run

NEEDS = """\
id: needs
criteria:
  - {id: found, points: 1, description: the cause is found, judge: {}}
  - {id: mended, points: 2, description: it is mended, judge: {}, needs: [found]}
  - id: extras
    points: 1
    description: two of three
    full_at: 2
    criteria:
      - {id: first, points: 1, description: first, judge: {}}
      - {id: second, points: 1, description: second, judge: {}}
      - {id: third, points: 1, description: third, judge: {}}
  - {id: lied, veto: true, description: it lies, judge: {}}
"""


def test_without_people_the_grade_stands(run: Path) -> None:
    desk = desk_of(run)
    for episode in desk.episodes.values():
        scored = effective_score(episode.grade, episode.rubric, {})
        assert (scored.score, scored.bounds) == (episode.grade.score, episode.grade.bounds)


def test_a_person_overrides_the_judge(run: Path) -> None:
    desk = desk_of(run)
    episode = desk.episodes["one"]
    decide(desk, "one", "approved", "met")
    assert desk.effective(episode).score == 1.0
    decide(desk, "one", "complete", "not_met")
    assert desk.effective(episode).score == (2 + 0 + 0 + 1 + 1) / 7
    decide(desk, "one", "tone", "neutral")
    assert desk.effective(episode).score == (2 + 0.5 + 1) / 7


def test_divided_people_leave_it_open_until_it_is_settled(run: Path) -> None:
    desk = desk_of(run)
    episode = desk.episodes["one"]
    decide(desk, "one", "approved", "met")
    decide(desk, "one", "complete", "met", by="anna")
    decide(desk, "one", "complete", "not_met", by="ben")
    scored = desk.effective(episode)
    assert scored.score is None
    assert scored.bounds == ((2 + 1 + 1) / 7, 1.0)
    item = item_of(desk, "one", "complete")
    acting.adjudicate(desk, item, "ben", "met", cause="reviewer_wrong", why="the date answers it")
    assert desk.effective(episode).score == 1.0


def test_who_cannot_tell_overrides_nobody(run: Path) -> None:
    desk = desk_of(run)
    decide(desk, "one", "approved", "met")
    decide(desk, "one", "complete", "cannot_tell")
    assert desk.effective(desk.episodes["one"]).score == 1.0


def test_an_unmet_need_that_a_person_calls_met_frees_what_rests_on_it(tmp_path: Path) -> None:
    made = Made(steps("why?", "because"), {"found": Said("not_met"), "lied": Said("not_met")})
    desk = desk_of(write_run(tmp_path / "run", {"one": made}, rubric=NEEDS))
    episode = desk.episodes["one"]
    assert episode.grade.score == 1 / 4, "only the extras count"
    decide(desk, "one", "found", "met")
    assert desk.effective(episode).score == 1.0
    decide(desk, "one", "first", "not_met")
    assert desk.effective(episode).score == 1.0, "two of three are enough"
    decide(desk, "one", "lied", "met")
    scored = desk.effective(episode)
    assert (scored.gated, scored.score) == (True, 0.0)


def test_what_can_not_be_known_any_more_is_open(tmp_path: Path) -> None:
    """A share that counted as 0 for lack of what it needs: the grade does not say what it was."""
    made = Made(steps("why?", "because"), {"found": Said("not_met"), "lied": Said("not_met")})
    desk = desk_of(write_run(tmp_path / "run", {"one": made}, rubric=NEEDS))
    episode = desk.episodes["one"]
    grade = episode.grade.model_copy(
        update={
            "criteria": tuple(
                result.model_copy(update={"verdict": "partly_met", "value": 0.0}) if result.id == "mended" else result
                for result in episode.grade.criteria
            )
        }
    )
    scored = effective_score(grade, parse_rubric(NEEDS), {"found": Ruling("met", 1.0, "anna")})
    assert scored.score is None
    assert scored.bounds == (2 / 4, 1.0)


@pytest.mark.parametrize("verdict", ["met", "not_met"])
def test_the_bars_add_up_to_the_score(run: Path, verdict: str) -> None:
    desk = desk_of(run)
    decide(desk, "one", "approved", "met")
    decide(desk, "one", "leaks", verdict)
    episode = desk.episodes["one"]
    grade = effective_grade(episode.grade, episode.rubric, desk.rulings(episode))
    bars = waterfall(grade)
    assert bars is not None
    assert grade.score is not None
    widths = sum(bar.width if bar.style == "earned" else -bar.width for bar in bars.bars)
    assert widths / (bars.full - bars.zero) == pytest.approx(grade.score)
    for before, after in zip(bars.bars, bars.bars[1:], strict=False):
        end = before.start if before.style == "lost" else before.start + before.width
        start = after.start + after.width if after.style == "lost" else after.start
        assert start == pytest.approx(end)


def test_what_is_open_is_drawn_as_what_it_may_be_worth(run: Path) -> None:
    episode = desk_of(run).episodes["one"]
    bars = waterfall(effective_grade(episode.grade, episode.rubric, {}))
    assert bars is not None
    assert [bar.style for bar in bars.bars if bar.result.id == "approved"] == ["open"]
