from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricgrade.report.numbers import money, number, span, total


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (0.0, "0"), (-2.0, "-2"), (0.75, "0.75"), (12 / 13, "0.9231"), (1e-7, "1e-07"), (0.99999, "0.99999")],
)
def test_a_number_is_short_but_never_rounded_into_a_whole_one(value: float, text: str) -> None:
    assert number(value) == text


@given(st.floats(0, 1))
def test_a_shown_score_is_near_and_is_whole_only_if_it_is(score: float) -> None:
    shown = number(score)
    assert abs(float(shown) - score) <= 0.00005
    assert (float(shown) in (0, 1)) == (score in (0, 1))


def test_points_add_up_as_they_are_written() -> None:
    assert total([0.1, 0.2]) == 0.3
    assert total([]) == 0


def test_bounds_are_one_number_when_they_are_equal() -> None:
    assert span((0.5, 0.5)) == "0.5"
    assert span((0.25, 1)) == "0.25 to 1"


def test_an_unknown_cost_is_no_cost_of_zero() -> None:
    assert money(None) == "unknown"
    assert money(0) == "$0.00"
    assert money(0.0012) == "$0.0012"
