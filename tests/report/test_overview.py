"""What a run comes to, recounted."""

from __future__ import annotations

import pytest

from rubricgrade.report.collecting import Collected
from rubricgrade.report.overview import missed, opened, overview
from tests.report.made import criterion
from tests.report.run_made import entry, whole_run


def test_rates_points_and_causes() -> None:
    run = whole_run()
    right, rude = (next(item for item in run.items if item.id == name) for name in ("right", "rude"))
    assert [item.id for item in run.items] == ["there", "right", "rude"]
    # Skipped behind a failed gate is not asked; open is asked and not decided.
    assert (right.applied, right.decided, right.met, right.mean) == (3, 2, 1, 0.75)
    assert (right.won, right.lost, right.causes) == (4.5, 1.5, {"judge_failed": 1})
    assert (rude.met, rude.won, rude.lost) == (1, 0, 1)
    there = run.items[0]
    assert (there.gate, there.met, there.decided, there.rate) == (True, 3, 4, 0.75)
    assert (run.summary.n, run.summary.graded, run.summary.gated, run.summary.ungraded) == (4, 2, 1, 1)
    assert [each.name for each in run.ungraded] == ["open"]
    assert [each.name for each in run.slowest][:2] == ["harmless", "all-good"]
    assert [each.name for each in run.dearest] == ["harmless"]


@pytest.mark.parametrize(("score", "place"), [(0.0, 0), (0.0999, 0), (0.1, 1), (0.3, 3), (0.7, 7), (0.95, 9), (1.0, 9)])
def test_every_score_is_in_one_range(score: float, place: int) -> None:
    run = overview(Collected("x", (entry("e", score),)))
    assert [each.count for each in run.bins] == [int(each == place) for each in range(10)]


def test_what_cost_points_and_what_is_open() -> None:
    all_good, half, stopped, open_ = whole_run().entries
    assert missed(all_good) == []
    assert [item.id for item in missed(half)] == ["right", "rude"]
    assert [item.id for item in missed(stopped)] == ["there"]
    assert [item.id for item in opened(open_)] == ["right"]
    assert opened(stopped) == []
    veto = entry("v", 0.0, criterion("leaks", None, 1.0, veto=True), criterion("fine", 1, 1.0))
    assert [item.id for item in missed(veto)] == ["leaks"]
