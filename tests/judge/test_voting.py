from __future__ import annotations

from collections import Counter
from statistics import median_high, median_low

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricgrade.judge.panel import decided, split

BINARY = ("no", "yes")
SCALE = ("poor", "fair", "good")


@pytest.mark.parametrize(
    ("answers", "panel", "winner"),
    [
        (["yes"], 1, "yes"),
        (["yes", "no"], 2, None),
        (["yes", "no", "yes"], 3, "yes"),
        (["yes", "yes", None], 3, "yes"),
        (["yes", "yes", "cannot_tell"], 3, "yes"),
        (["yes", "cannot_tell", "cannot_tell"], 3, "cannot_tell"),
        (["yes", "no", "cannot_tell"], 3, None),
        (["yes", None], 2, None),
        (["yes", None, None], 3, None),
        ([None], 1, None),
        (["yes", "yes", "no", "no"], 4, None),
    ],
)
def test_more_than_half_of_the_panel(answers: list[str | None], panel: int, winner: str | None) -> None:
    assert decided(answers, BINARY, panel) == winner


@pytest.mark.parametrize(
    ("answers", "winner"),
    [
        (["poor", "fair", "good"], "fair"),
        (["good", "good", "poor"], "good"),
        (["poor", "good"], None),
        (["fair", "fair"], "fair"),
        (["poor", "fair", "good", "good"], None),
        (["poor", "fair", "fair", "good"], "fair"),
        (["fair", "fair", None], "fair"),
        (["poor", "good", None], None),
        (["poor", "good", "cannot_tell"], None),
        (["cannot_tell", "cannot_tell", "good"], "cannot_tell"),
    ],
)
def test_the_median_of_a_scale(answers: list[str | None], winner: str | None) -> None:
    assert decided(answers, SCALE, len(answers)) == winner


@given(st.lists(st.sampled_from(["yes", "no", "cannot_tell", None]), min_size=1))
def test_yes_and_no_win_by_more_than_half(answers: list[str | None]) -> None:
    count = Counter(answers)
    winners = [answer for answer in ("yes", "no", "cannot_tell") if 2 * count[answer] > len(answers)]
    assert decided(answers, BINARY, len(answers)) == (winners[0] if winners else None)


@given(st.lists(st.sampled_from([*SCALE, "cannot_tell", None]), min_size=1), st.randoms())
def test_order_decides_nothing(answers: list[str | None], chance: object) -> None:
    shuffled = sorted(answers, key=lambda _: chance.random())  # type: ignore[attr-defined]  # hypothesis' own Random
    assert decided(answers, SCALE, len(answers)) == decided(shuffled, SCALE, len(answers))


@given(st.lists(st.sampled_from([*SCALE, None]), min_size=1, max_size=7), st.data())
def test_a_failed_vote_never_becomes_another_verdict(answers: list[str | None], data: st.DataObject) -> None:
    """Whatever is decided without some votes is what would have been decided with them."""
    winner = decided(answers, SCALE, len(answers))
    whole = [answer or data.draw(st.sampled_from(SCALE)) for answer in answers]
    ranks = sorted(SCALE.index(answer) for answer in whole)
    low, high = median_low(ranks), median_high(ranks)
    expected = SCALE[low] if low == high else None
    assert winner in (None, expected)
    assert winner == expected or None in answers


def test_a_split_in_words() -> None:
    assert split(["no", "yes", "failed", "yes"]) == "2 yes, 1 failed, 1 no"
