"""Numbers over attempts, against published ones and against counting."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricgrade.runs.statistics import difference_interval, interval, mean, pass_all_k, pass_at_k, wilson

# 50 tasks of tau-bench's airline domain by gpt-4o, four attempts each: how many tasks were solved 0, 1, 2, 3, 4 times.
AIRLINE = [0] * 14 + [1] * 12 + [2] * 10 + [3] * 4 + [4] * 10


@pytest.mark.parametrize(
    ("k", "all_k", "at_k"), [(1, 0.42, 0.42), (2, 0.2733, 0.5667), (3, 0.22, 0.66), (4, 0.2, 0.72)]
)
def test_the_published_numbers_of_tau_bench(k: int, all_k: float, at_k: float) -> None:
    assert mean([pass_all_k(4, solved, k) or 0.0 for solved in AIRLINE]) == pytest.approx(all_k, abs=5e-5)
    assert mean([pass_at_k(4, solved, k) or 0.0 for solved in AIRLINE]) == pytest.approx(at_k, abs=5e-5)


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.integers(min_value=1, max_value=8))
def test_both_are_the_share_of_all_choices_of_k(attempts: list[bool], k: int) -> None:
    solved = sum(attempts)
    if k > len(attempts):
        assert pass_at_k(len(attempts), solved, k) is None
        assert pass_all_k(len(attempts), solved, k) is None
        return
    choices = list(combinations(attempts, k))
    assert pass_at_k(len(attempts), solved, k) == pytest.approx(sum(map(any, choices)) / len(choices))
    assert pass_all_k(len(attempts), solved, k) == pytest.approx(sum(map(all, choices)) / len(choices))


@given(st.lists(st.lists(st.floats(min_value=0, max_value=1), min_size=1, max_size=5), min_size=2, max_size=5))
def test_an_interval_lies_within_the_values_and_is_repeatable(groups: list[list[float]]) -> None:
    found = interval(groups, draws=200)
    assert found is not None
    values = [value for group in groups for value in group]
    assert min(values) - 1e-12 <= found[0] <= found[1] <= max(values) + 1e-12
    assert interval(groups, draws=200) == found


def test_one_value_says_nothing_about_its_spread() -> None:
    assert interval([[0.5]]) is None
    assert interval([[], [1.0]]) is None
    assert interval([]) is None
    assert mean([]) is None


def test_an_interval_narrows_with_more_attempts() -> None:
    few, many = interval([[0.0, 1.0]]), interval([[0.0, 1.0] * 200])
    assert few is not None
    assert many is not None
    assert many[1] - many[0] < 0.15 < few[1] - few[0]


@given(st.integers(min_value=1, max_value=200), st.data())
def test_wilson_holds_the_rate_and_is_never_certain(attempts: int, data: st.DataObject) -> None:
    solved = data.draw(st.integers(min_value=0, max_value=attempts))
    found = wilson(solved, attempts)
    assert found is not None
    assert 0 <= found[0] <= solved / attempts <= found[1] <= 1
    assert found[1] - found[0] > 0


def test_wilson_of_the_seeds_task() -> None:
    found = wilson(5, 16)
    assert found is not None
    assert found == pytest.approx((0.1416, 0.5560), abs=5e-4)
    assert wilson(0, 0) is None


def test_a_difference_between_other_attempts_of_the_same_tasks() -> None:
    assert difference_interval([]) is None
    assert difference_interval([([0.0], [1.0])]) is None
    assert difference_interval([([0.0, 1.0], [])]) is None
    assert difference_interval([([0.5, 0.5], [1.0])]) == (0.5, 0.5)
    low, high = difference_interval([([0.0, 1.0] * 10, [0.0, 1.0] * 10)]) or (0.0, 0.0)
    assert -0.4 < low < 0 < high < 0.4
    # Drawing tasks again keeps their sides together: they differ by the same everywhere.
    assert difference_interval([([0.0], [0.5]), ([0.5], [1.0])]) == (0.5, 0.5)
