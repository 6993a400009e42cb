from __future__ import annotations

import random
import statistics
from collections import Counter

import pytest

from rubricgrade.agreement import Counts, Undefined, judged_rate, ppi, rogan_gladen

LENIENT: Counts = {
    ("met", "met"): 45,
    ("met", "not_met"): 5,
    ("not_met", "met"): 10,
    ("not_met", "not_met"): 40,
    (None, "met"): 140,
    (None, "not_met"): 160,
}
"""Sensitivity 0.9, specificity 0.8; the judge says met in 195 of 400."""


def test_worked_out_by_hand() -> None:
    assert judged_rate(LENIENT) == 195 / 400
    assert rogan_gladen(LENIENT) == pytest.approx((0.4875 + 0.8 - 1) / 0.7)
    assert ppi(LENIENT) == pytest.approx(0.4875 - 0.05)


def test_labels_on_everything_give_peoples_own_rate() -> None:
    counts: Counts = {pair: count for pair, count in LENIENT.items() if pair[0] is not None}
    assert ppi(counts) == pytest.approx(0.5)
    assert rogan_gladen(counts) == pytest.approx(0.5)


def test_a_judge_that_tells_too_little_can_not_be_corrected_by_its_rates() -> None:
    counts: Counts = {("met", "met"): 5, ("met", "not_met"): 5, ("not_met", "met"): 4, ("not_met", "not_met"): 6}
    found = rogan_gladen(counts)
    assert isinstance(found, Undefined)
    assert "0.10" in found.reason
    assert ppi(counts) == pytest.approx(0.5)


@pytest.mark.parametrize("only", ["met", "not_met"])
def test_people_who_gave_one_answer_show_only_one_kind_of_error(only: str) -> None:
    counts: Counts = {(only, "met"): 3, (only, "not_met"): 2, (None, "met"): 9}
    assert isinstance(rogan_gladen(counts), Undefined)
    assert isinstance(ppi(counts), float)


def test_without_labels_or_verdicts_there_is_nothing_to_correct() -> None:
    assert isinstance(ppi({(None, "met"): 3}), Undefined)
    assert isinstance(rogan_gladen({(None, "met"): 3}), Undefined)
    for correct in (judged_rate, ppi, rogan_gladen):
        assert isinstance(correct({}), Undefined)


def test_corrected_rates_are_rates() -> None:
    harsh: Counts = {("met", "met"): 9, ("met", "not_met"): 1, ("not_met", "met"): 3, ("not_met", "not_met"): 7}
    everything: Counts = {**harsh, (None, "met"): 500}
    nothing: Counts = {**harsh, (None, "not_met"): 500}
    assert (rogan_gladen(everything), rogan_gladen(nothing)) == (1, 0)
    assert ppi(nothing) == 0


def test_an_abstention_is_no_met_and_stays_among_all() -> None:
    counts: Counts = {
        ("met", "met"): 8,
        ("met", "cannot_tell"): 2,
        ("not_met", "not_met"): 10,
        (None, "cannot_tell"): 20,
    }
    assert judged_rate(counts) == 0.2
    assert ppi(counts) == pytest.approx(0.2 + 2 / 20)
    assert rogan_gladen(counts) == pytest.approx(0.2 / 0.8)
    doubted: Counts = {**counts, ("not_met", "cannot_tell"): 10}
    assert rogan_gladen(doubted) == pytest.approx(8 / 50 / 0.8)


def test_what_people_could_not_tell_is_no_label() -> None:
    counts: Counts = {**LENIENT, ("cannot_tell", "met"): 50}
    without: Counts = {**LENIENT, (None, "met"): 190}
    assert ppi(counts) == ppi(without)
    assert rogan_gladen(counts) == rogan_gladen(without)


def test_both_find_the_true_rate_behind_a_lenient_judge() -> None:
    source = random.Random(11)
    found: dict[str, list[float]] = {"judge": [], "rogan_gladen": [], "ppi": []}
    for _ in range(200):
        counts = Counter[tuple[str | None, str]]()
        for number in range(600):
            met = source.random() < 0.3
            says = source.random() < (0.95 if met else 0.25)
            person = None if number >= 200 else "met" if met else "not_met"
            counts[person, "met" if says else "not_met"] += 1
        for name, number in (
            ("judge", judged_rate(counts)),
            ("rogan_gladen", rogan_gladen(counts)),
            ("ppi", ppi(counts)),
        ):
            assert isinstance(number, float)
            found[name].append(number)
    assert statistics.fmean(found["judge"]) > 0.42
    assert statistics.fmean(found["rogan_gladen"]) == pytest.approx(0.3, abs=0.01)
    assert statistics.fmean(found["ppi"]) == pytest.approx(0.3, abs=0.01)
