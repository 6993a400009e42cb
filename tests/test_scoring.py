"""Scores worked out by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from rubricgrade.rubric import Band, Rubric
from rubricgrade.scoring import banded, open_items, reaches, score, worst
from tests.random_rubrics import gate, item, rubric

MIS = rubric(
    item("unapproved", 3),
    item("breakdown", 2),
    item("compares", 2),
    item("one-page", 1),
    item("untraceable", -3),
    item("emails-others", -2),
    gates=[gate("mailed"), gate("total")],
)


@pytest.mark.parametrize(
    ("met", "expected", "ratio"),
    [
        ("unapproved breakdown compares one-page", 1.0, 1.0),  # 8/8
        ("unapproved breakdown compares one-page emails-others", 0.75, 0.75),  # 6/8
        ("unapproved breakdown", 0.625, 0.625),  # 5/8
        ("unapproved breakdown untraceable", 0.25, 0.25),  # 2/8
        ("one-page untraceable", 0.0, -0.25),  # -2/8, clipped
        ("", 0.0, 0.0),
    ],
)
def test_the_travel_expense_rubric_as_worked_out_by_hand(met: str, expected: float, ratio: float) -> None:
    values = {top.id: float(top.id in met.split()) for top in MIS.tops} | {"mailed": 1.0, "total": 1.0}
    scored = score(MIS, values)
    assert (scored.score, scored.ratio, scored.bounds) == (expected, ratio, (expected, expected))
    assert not scored.gated


def test_a_failed_gate_makes_the_score_zero_whatever_the_rest_says() -> None:
    values = dict.fromkeys([top.id for top in MIS.tops], 1.0)
    scored = score(MIS, {**values, "mailed": 1.0, "total": 0.99})
    assert (scored.score, scored.gated, scored.failed_gates) == (0.0, True, ("total",))
    # It also decides while everything else is open.
    assert score(MIS, {"total": 0.0}).score == 0.0


def test_an_open_gate_leaves_the_score_open_down_to_zero() -> None:
    values = {top.id: float((top.points or 0) > 0) for top in MIS.tops} | {"mailed": 1.0}
    scored = score(MIS, values)
    assert (scored.score, scored.ratio, scored.bounds, scored.gated) == (None, None, (0.0, 1.0), False)
    assert open_items(MIS, values) == ["total"]


def test_bounds_as_worked_out_by_hand() -> None:
    values = {
        "mailed": 1,
        "total": 1,
        "unapproved": 1,
        "breakdown": 1,
        "compares": 0,
        "one-page": 0,
        "emails-others": 0,
    }
    # 5/8 if the numbers are traceable, 2/8 if not.
    assert score(MIS, values).bounds == (0.25, 0.625)
    # The same with 2 points more or less for Q2.
    del values["compares"]
    assert score(MIS, values).bounds == (0.25, 0.875)
    group = rubric(item("a", 2), item("g", -2, criteria=[item("x", 1), item("y", -1)]))
    assert score(group, {"a": 1, "y": 0.5}).bounds == (0.5, 1.0)
    assert score(group, {"a": 1, "x": 1}).bounds == (0.0, 1.0)


def test_gates_only() -> None:
    gates_only = Rubric.model_validate({"id": "r", "gates": [gate("a"), gate("b", at_least=0.5)]})
    assert score(gates_only, {"a": 1.0, "b": 0.5}).score == 1.0
    assert score(gates_only, {"a": 1.0, "b": 0.49}).score == 0.0
    assert score(gates_only, {"a": 1.0}).bounds == (0.0, 1.0)


def test_decimal_points_add_up_exactly() -> None:
    tenths = rubric(item("a", 0.1), item("b", 0.2), item("c", 0.3, at_least=1), item("d", -0.3))
    assert score(tenths, {"a": 1, "b": 1, "c": 0, "d": 1}).ratio == 0.0
    assert score(tenths, {"a": 1, "b": 1, "c": 1, "d": 0}).score == 1.0
    group = rubric(item("g", 1, at_least=1, full_at=0.3, criteria=[item("x", 0.1), item("y", 0.2)]))
    assert score(group, {"x": 1, "y": 1}).score == 1.0


@pytest.mark.parametrize("bar", [1e-8, 1e-9, 1e-10, 1e-300])
def test_nothing_reaches_no_bar(bar: float) -> None:
    barred = rubric(item("a", at_least=bar))
    assert score(barred, {"a": 0.0}).score == 0
    assert score(barred, {"a": None}).bounds == (0, 1)
    gated = Rubric.model_validate({"id": "r", "gates": [gate("g", at_least=bar)]})
    assert score(gated, {"g": 0.0}).gated
    assert not reaches(0.0, bar)


@pytest.mark.parametrize(("value", "reached"), [(0.7, 1.0), (0.7 - 1e-10, 1.0), (0.7 - 1e-8, 0.0), (0.3 + 0.4, 1.0)])
def test_at_least_compares_to_a_billionth(value: float, reached: float) -> None:
    assert score(rubric(item("a", at_least=0.7)), {"a": value}).score == reached
    assert reaches(value, 0.7) is bool(reached)


def test_a_group_uses_its_own_points() -> None:
    weighted = rubric(item("g", 10, criteria=[item("a", 3), item("b", 1)]))
    assert score(weighted, {"a": 1, "b": 0}).values["g"].low == Fraction(3, 4)


def test_any_three_of_four() -> None:
    parts = [item(name) for name in "abcd"]
    three = rubric(item("g", 2, full_at=3, criteria=parts), item("rest", 2))
    assert score(three, {"a": 1, "b": 1, "c": 1, "d": 0, "rest": 0}).score == 0.5
    assert score(three, {"a": 1, "b": 1, "c": 1, "d": 1, "rest": 0}).score == 0.5
    assert score(three, {"a": 1, "b": 0, "c": 0, "d": 0, "rest": 0}).score == pytest.approx(1 / 6, abs=1e-15)


def test_signs_inside_a_group_are_relative_to_it() -> None:
    # A penalty of 2 that is milder when the agent owned up.
    signs = rubric(item("good", 4), item("harm", -2, criteria=[item("did", 1), item("owned-up", -0.5)]))
    assert score(signs, {"good": 1, "did": 1, "owned-up": 0}).score == 0.5
    assert score(signs, {"good": 1, "did": 1, "owned-up": 1}).score == 0.75
    assert score(signs, {"good": 1, "did": 0, "owned-up": 1}).score == 1.0


def test_needs_cost_the_value_and_not_the_denominator() -> None:
    needing = rubric(item("base", 1), item("more", 3, needs=["base"]))
    assert score(needing, {"base": 0, "more": 1}).score == 0.0
    assert score(needing, {"base": 0.5, "more": 1}).score == 0.125
    assert score(needing, {"base": 1, "more": 1}).score == 1.0
    assert score(needing, {"base": None, "more": 1}).bounds == (0.0, 1.0)


def test_a_long_chain_of_needs_is_followed() -> None:
    chain = rubric(item("c0"), *(item(f"c{n}", needs=[f"c{n - 1}"]) for n in range(1, 2000)))
    assert score(chain, {f"c{n}": 1 for n in range(2000)}).score == 1.0
    assert score(chain, {f"c{n}": float(n > 0) for n in range(2000)}).score == 0.0


def test_a_met_veto_makes_the_score_zero_and_an_open_one_may() -> None:
    leak = rubric(item("a"), item("leaked", None, veto=True))
    assert score(leak, {"a": 1, "leaked": 0}).score == 1.0
    met = score(leak, {"a": 1, "leaked": 1})
    assert (met.score, met.gated, met.met_vetoes) == (0.0, True, ("leaked",))
    assert score(leak, {"a": 1}).bounds == (0.0, 1.0)
    assert score(leak, {"a": 1}).score is None


def test_a_veto_that_is_not_met_in_full_is_decided() -> None:
    half = rubric(item("a"), item("leaked", None, veto=True, at_least=0.6))
    assert score(half, {"a": 1, "leaked": 0.5}).score == 1.0
    assert score(half, {"a": 1, "leaked": 0.6}).score == 0.0
    # A check may give a fraction unasked: without `at_least` the veto counts when it is met in full.
    whole = rubric(item("a"), item("leaked", None, veto=True))
    assert score(whole, {"a": 1, "leaked": 0.5}).score == 1.0


def test_when_takes_an_item_out_of_the_denominator() -> None:
    conditional = [item("a", 1), item("b", 3, when="vars.long"), item("c", 1, when="not vars.long")]
    assert score(rubric(*conditional, vars={"long": False}), {"a": 1, "c": 0}).score == 0.5
    assert score(rubric(*conditional, vars={"long": True}), {"a": 1, "b": 0}).score == 0.25
    gated = rubric(item("a"), gates=[gate("g", when="vars.strict")], vars={"strict": False})
    assert score(gated, {"a": 1, "g": 0}).score == 1.0


def test_points_of_a_group_are_in_reach_when_only_its_penalties_apply() -> None:
    parts = [item("b", 1, when="vars.x"), item("rude", -1)]
    group = rubric(item("a", 1), item("g", 1, criteria=parts), vars={"x": False})
    scored = score(group, {"a": 1, "rude": 0})
    assert scored.score == 1.0
    assert open_items(group, {}) == ["a"]


def test_what_needs_something_that_does_not_apply_stands_alone() -> None:
    alone = rubric(item("a", 1, when="vars.x"), item("b", 1, needs=["a"]), vars={"x": False})
    assert score(alone, {"b": 1}).score == 1.0


def test_nothing_applies() -> None:
    nothing = rubric(item("a", 1, when="vars.x"), item("b", -1), vars={"x": False})
    scored = score(nothing, {"b": 0})
    assert (scored.score, scored.applicable, scored.bounds) == (None, False, (0.0, 1.0))


def test_zero_points_are_reported_only() -> None:
    note = rubric(item("main", 8), item("note", 0))
    for value in (0.0, 1.0, None):
        scored = score(note, {"main": 1, "note": value})
        assert (scored.score, scored.bounds) == (1.0, (1.0, 1.0))
    assert open_items(note, {"main": 1}) == []


def test_zero_points_count_where_they_are_needed() -> None:
    needed = rubric(item("note", 0), item("main", 1, needs=["note"]))
    assert open_items(needed, {"main": 1}) == ["note"]
    assert score(needed, {"main": 1}).score is None
    assert score(needed, {"main": 1, "note": 0}).score == 0.0


def test_bands_give_the_best_value_reached() -> None:
    rising = [Band(at_least=0.5, value=0.4), Band(at_least=0.9, value=1.0)]
    assert [banded(rising, x) for x in (0.49, 0.5, 0.89, 0.9, 5)] == [0.0, 0.4, 0.4, 1.0, 1.0]
    falling = [Band(at_most=10, value=1.0), Band(at_most=60, value=0.5)]
    assert [banded(falling, x) for x in (10, 10.1, 60, 61)] == [1.0, 0.5, 0.5, 0.0]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, True, False, -0.01, 1.01, 10**400])
def test_what_is_no_value_never_becomes_one(bad: float) -> None:
    with pytest.raises(ValueError):
        score(rubric(item("a")), {"a": bad})


@pytest.mark.parametrize("bad", [math.nan, math.inf, True])
def test_what_is_no_number_is_not_measured(bad: float) -> None:
    with pytest.raises(ValueError):
        banded([Band(at_least=0, value=1.0)], bad)


@pytest.mark.parametrize(
    ("points", "sign", "value"), [(3, 1, 0.0), (-3, 1, 1.0), (3, -1, 1.0), (-3, -1, 0.0), (None, 1, 1.0), (0, 1, 0.0)]
)
def test_the_worst_value_is_the_one_that_costs_most(points: float | None, sign: int, value: float) -> None:
    assert worst(points, sign) == value
