from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import pytest

from rubricgrade.agreement import Interval, Number, Undefined, intervals


def rate(counts: Mapping[str, int]) -> dict[str, Number]:
    total = counts.get("yes", 0) + counts.get("no", 0)
    return {"rate": counts.get("yes", 0) / total if total else Undefined("none")}


def interval(clusters: list[dict[str, int]], **more: int) -> Interval:
    found = intervals(clusters, rate, **more)["rate"]
    assert isinstance(found, Interval)
    return found


def test_the_same_seed_gives_the_same_interval_in_any_order() -> None:
    clusters = [{"yes": number % 3, "no": 1} for number in range(30)]
    shuffled = random.Random(3).sample(clusters, len(clusters))
    assert interval(clusters) == interval(shuffled)
    assert interval(clusters) != interval(clusters, seed=1)


def test_independent_rates_get_the_usual_interval() -> None:
    found = interval([{"yes": 1}] * 60 + [{"no": 1}] * 40)
    assert (found.low, found.high) == pytest.approx((0.504, 0.696), abs=0.02)


def test_what_stands_in_one_trajectory_is_one_draw() -> None:
    alone = interval([{"yes": 1}] * 200 + [{"no": 1}] * 200)
    together = interval([{"yes": 20}] * 10 + [{"no": 20}] * 10)
    assert together.high - together.low > 3 * (alone.high - alone.low)


@pytest.mark.parametrize("clusters", [[], [{"yes": 3, "no": 1}]])
def test_one_trajectory_shows_no_spread(clusters: list[dict[str, int]]) -> None:
    assert intervals(clusters, rate) == {"rate": Undefined("fewer than two trajectories")}


def test_often_undefined_is_undefined() -> None:
    found = intervals([{"yes": 1}, {"other": 1}, {"other": 1}], rate)["rate"]
    assert isinstance(found, Undefined)
    assert "too few trajectories" in found.reason


def test_a_draw_in_which_it_is_undefined_could_have_been_anything() -> None:
    # Few enough such draws to leave an interval.
    clusters = [{"yes": 1}] * 10 + [{"no": 1}] * 10 + [{"other": 1}] * 60

    def when_few(other: Number) -> Callable[[Mapping[str, int]], dict[str, Number]]:
        return lambda counts: {"rate": other} if counts["other"] > 67 else rate(counts)

    found, lowest, highest = (intervals(clusters, when_few(other))["rate"] for other in (Undefined("few"), -10.0, 10.0))
    assert isinstance(found, Interval)
    assert isinstance(lowest, Interval)
    assert isinstance(highest, Interval)
    assert (found.low, found.high) == (lowest.low, highest.high)
    assert found.low < highest.low
    assert found.high > lowest.high


def test_the_true_rate_is_covered_about_as_often_as_promised() -> None:
    source = random.Random(5)
    covered = 0
    for _ in range(100):
        clusters = [{"yes": 1} if source.random() < 0.3 else {"no": 1} for _ in range(80)]
        found = interval(clusters, draws=400)
        covered += found.low <= 0.3 <= found.high
    assert 86 <= covered <= 100
