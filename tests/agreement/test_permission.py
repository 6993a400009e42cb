from __future__ import annotations

import pytest

from rubricgrade.agreement import Number, Undefined, permit
from rubricgrade.agreement.permission import balanced_floor


@pytest.mark.parametrize(
    ("kappa", "low", "allowed"),
    [
        (0.6, 0.75, True),
        (0.599, 0.9, False),
        (0.9, 0.749, False),
        (Undefined("one label"), 0.9, False),
        (0.9, Undefined("too few"), False),
    ],
)
def test_a_judge_decides_alone_only_if_both_bars_are_reached(kappa: Number, low: Number, allowed: bool) -> None:
    assert permit(kappa, low)[0] is allowed


def test_every_doubt_is_named() -> None:
    _, reason = permit(Undefined("one label"), 0.5)
    assert "one label" in reason
    assert "0.500" in reason


@pytest.mark.parametrize(("each", "enough"), [(3, False), (5, False), (10, True), (100, True)])
def test_a_few_right_answers_are_no_proof(each: int, enough: bool) -> None:
    floor = balanced_floor({("met", "met"): each, ("not_met", "not_met"): each})
    assert isinstance(floor, float)
    assert (floor >= 0.75) is enough


def test_one_kind_of_answer_has_no_balance() -> None:
    assert isinstance(balanced_floor({("met", "met"): 50}), Undefined)
    assert isinstance(balanced_floor({}), Undefined)
