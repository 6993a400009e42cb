from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricgrade.judge.voting import majority, split


@pytest.mark.parametrize(
    ("answers", "panel", "winner"),
    [
        (["yes"], 1, "yes"),
        (["yes", "no"], 2, None),
        (["yes", "no", "yes"], 3, "yes"),
        (["yes", "yes"], 3, "yes"),
        (["yes"], 2, None),
        (["yes"], 3, None),
        (["poor", "fair", "good"], 3, None),
        (["poor", "good", "good", "fair"], 4, None),
        ([], 3, None),
    ],
)
def test_more_than_half_of_the_panel(answers: list[str], panel: int, winner: str | None) -> None:
    assert majority(answers, panel) == winner


@given(st.lists(st.sampled_from(["yes", "no", "cannot_tell"])), st.randoms())
def test_order_decides_nothing(answers: list[str], chance: object) -> None:
    shuffled = sorted(answers, key=lambda _: chance.random())  # type: ignore[attr-defined]  # hypothesis' own Random
    assert majority(answers, len(answers)) == majority(shuffled, len(answers))
    assert split(answers) == split(shuffled)


def test_a_split_in_words() -> None:
    assert split(["no", "yes", "failed", "yes"]) == "2 yes, 1 failed, 1 no"
