from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricgrade.agreement import (
    Pairs,
    Undefined,
    accuracy,
    balanced_accuracy,
    cohen_kappa,
    krippendorff_alpha,
    phi,
    prevalence_gap,
    sensitivity,
    specificity,
)

counts = st.integers(0, 50)
tables = st.fixed_dictionaries(
    {(person, judge): counts for person in ("met", "not_met") for judge in ("met", "not_met")}
)


def table(tp: int = 0, fn: int = 0, fp: int = 0, tn: int = 0) -> Pairs:
    return {("met", "met"): tp, ("met", "not_met"): fn, ("not_met", "met"): fp, ("not_met", "not_met"): tn}


def test_all_of_one_label_is_agreement_whose_kappa_is_undefined() -> None:
    pairs = table(tp=4)
    assert accuracy(pairs) == 1
    kappa = cohen_kappa(pairs)
    assert isinstance(kappa, Undefined)
    assert kappa.reason.startswith("one label")
    assert isinstance(phi(pairs), Undefined)
    assert isinstance(balanced_accuracy(pairs), Undefined)
    assert isinstance(specificity(pairs), Undefined)
    assert isinstance(krippendorff_alpha([["met", "met"]] * 4), Undefined)


def test_a_judge_that_always_gives_the_same_answer_has_a_kappa_of_0() -> None:
    pairs = table(tp=6, fp=2)
    assert (accuracy(pairs), cohen_kappa(pairs), balanced_accuracy(pairs)) == (0.75, 0, 0.5)
    assert phi(pairs) == Undefined("the judge gave one answer everywhere")


def test_nothing_to_compare_is_undefined_and_not_0() -> None:
    for measure in (accuracy, balanced_accuracy, cohen_kappa, phi, prevalence_gap, sensitivity, specificity):
        assert isinstance(measure({}), Undefined)
        assert isinstance(measure(table()), Undefined)
    assert isinstance(krippendorff_alpha([]), Undefined)
    assert isinstance(krippendorff_alpha([["met"], [], ["not_met"]]), Undefined)


def test_a_lenient_judge_has_a_gap_above_0() -> None:
    assert prevalence_gap(table(tp=2, fp=3, tn=5)) == pytest.approx(0.3)
    assert prevalence_gap(table(tp=2, fn=3, tn=5)) == pytest.approx(-0.3)


def test_an_abstention_that_is_a_class_of_its_own_is_a_wrong_answer() -> None:
    pairs = {**table(tp=3, tn=4), ("met", "cannot_tell"): 1}
    assert sensitivity(pairs) == 0.75
    assert specificity(pairs) == 1
    assert accuracy(pairs) == 7 / 8


def test_weights_count_a_disagreement_by_its_distance() -> None:
    order = ["none", "some", "all"]
    near = {("none", "none"): 5, ("all", "all"): 5, ("none", "some"): 2}
    far = {("none", "none"): 5, ("all", "all"): 5, ("none", "all"): 2}
    for weights in ("linear", "quadratic"):
        close, wide = (cohen_kappa(pairs, order=order, weights=weights) for pairs in (near, far))
        assert isinstance(close, float)
        assert isinstance(wide, float)
        assert close > wide
    assert cohen_kappa(near, order=["none", "all"], weights="linear") == Undefined(
        "the place of some in the scale is not known"
    )
    assert isinstance(krippendorff_alpha([["none", "some"]], order=["none", "all"]), Undefined)


@given(tables)
def test_two_answers_are_kept_in_their_ranges_and_symmetries(pairs: Pairs) -> None:
    kappa, correlation = cohen_kappa(pairs), phi(pairs)
    turned = {(judge, person): count for (person, judge), count in pairs.items()}
    named = {"met": "not_met", "not_met": "met"}
    flipped = {(named[person], named[judge]): count for (person, judge), count in pairs.items()}
    for other in (turned, flipped):
        assert cohen_kappa(other) == (kappa if isinstance(kappa, Undefined) else pytest.approx(kappa))
    if isinstance(kappa, float):
        assert -1 - 1e-12 <= kappa <= 1
        assert cohen_kappa(pairs, order=["met", "not_met"], weights="linear") == pytest.approx(kappa)
    if isinstance(kappa, float) and isinstance(correlation, float):
        # Equal rates of both raters make the two one number; otherwise chance takes more from kappa.
        assert abs(kappa) <= abs(correlation) + 1e-9
        if prevalence_gap(pairs) == 0:
            assert kappa == pytest.approx(correlation)


@given(tables)
def test_the_balance_is_the_mean_of_both_recalls(pairs: Pairs) -> None:
    balanced, sense, exact = balanced_accuracy(pairs), sensitivity(pairs), specificity(pairs)
    if isinstance(sense, Undefined) or isinstance(exact, Undefined):
        assert isinstance(balanced, Undefined)
    else:
        assert balanced == pytest.approx((sense + exact) / 2)


@given(st.lists(st.lists(st.sampled_from(["met", "not_met"]), max_size=4), max_size=12))
def test_alpha_depends_neither_on_who_said_it_nor_on_what_nobody_answered(units: list[list[str]]) -> None:
    shuffled = [sorted(unit) for unit in reversed(units)]
    ours = krippendorff_alpha(units)
    for other in (shuffled, [*units, [], ["met"]]):
        theirs = krippendorff_alpha(other)
        assert theirs == (ours if isinstance(ours, Undefined) else pytest.approx(ours))
