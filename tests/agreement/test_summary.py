from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from rubricgrade.agreement import Agreement, Decision, Row, summarise
from rubricgrade.agreement.decision import Abstentions
from tests.agreement.reference import HERE

Answers = Sequence[tuple[str | None, str | None]]
"""People's and the judge's."""

TEN: Answers = [("met", "met")] * 6 + [("not_met", "not_met")] * 5 + [("met", "not_met")]


def decisions(answers: Answers, criterion: str = "c") -> list[Decision]:
    return [
        Decision(f"t{number}", criterion, judge, (("ann", person),) if person else ())
        for number, (person, judge) in enumerate(answers)
    ]


def pooled(answers: Answers, **more: Any) -> Row:
    return summarise(decisions(answers), **more).pooled


def test_an_agent_as_a_judge_may_decide_alone() -> None:
    judged = json.loads((HERE / "devai.json").read_text())["judged"]
    word = ("not_met", "met")
    found = summarise(
        Decision(place, place.partition("/")[0], word[int(judge)], (("consensus", word[int(person)]),))
        for place, (people, judges) in judged.items()
        for person, judge in zip(people, judges, strict=True)
    ).pooled
    assert (found.compared, found.trajectories, found.automatic) == (1098, 165, True)
    assert found.accuracy.value == pytest.approx(0.896, abs=5e-4)
    assert found.kappa.value == pytest.approx(0.778, abs=5e-4)
    assert found.kappa.low is not None
    assert found.kappa.high is not None
    assert (found.kappa.low, found.kappa.high) == pytest.approx((0.73, 0.82), abs=0.02)


def test_one_label_is_said_and_strict_json_all_the_same() -> None:
    found = summarise(decisions([("met", "met")] * 4))
    row = json.loads(found.model_dump_json(), parse_constant=pytest.fail)["pooled"]
    assert row["kappa"]["value"] is None
    assert row["kappa"]["undefined"].startswith("one label")
    assert (row["accuracy"]["value"], row["compared"], row["automatic"]) == (1.0, 4, False)


@pytest.mark.parametrize(
    ("mode", "compared", "accuracy", "sensitivity"),
    [("excluded", 12, 11 / 12, 6 / 7), ("error", 14, 11 / 14, 6 / 8), ("class", 14, 11 / 14, 6 / 8)],
)
def test_abstentions_count_as_stated(mode: Abstentions, compared: int, accuracy: float, sensitivity: float) -> None:
    answers = [*TEN, ("met", "cannot_tell"), ("not_met", "cannot_tell")]
    row = pooled(answers, abstentions=mode)
    assert (row.compared, row.abstained, row.labelled) == (compared, 2, 14)
    assert row.coverage == 12 / 14
    assert row.accuracy.value == pytest.approx(accuracy)
    assert row.sensitivity.value == pytest.approx(sensitivity)
    assert row.pass_rate.value == pytest.approx(6 / 14)


def test_an_abstention_as_an_error_is_the_opposite_and_as_a_class_it_is_neither() -> None:
    answers = [*TEN, ("not_met", "cannot_tell")]
    error, own = pooled(answers, abstentions="error"), pooled(answers, abstentions="class")
    assert {(cell.people, cell.judge) for cell in own.table} > {("not_met", "cannot_tell")}
    assert [cell.count for cell in error.table if (cell.people, cell.judge) == ("not_met", "met")] == [1]
    assert error.prevalence_gap.value == pytest.approx(0.0)
    assert own.prevalence_gap.value == pytest.approx(-1 / 13)


def test_a_missing_verdict_is_in_no_measure() -> None:
    row = pooled([*TEN, ("met", None), (None, None)])
    assert (row.decisions, row.labelled, row.undecided, row.compared) == (14, 13, 1, 12)
    assert row.accuracy.value == pooled(TEN).accuracy.value


def test_unlabelled_decisions_are_in_the_pass_rates_only() -> None:
    row = pooled([*TEN, *[(None, "met")] * 12])
    assert row.compared == 12
    assert row.pass_rate.value == pytest.approx(18 / 24)
    assert row.pass_rate_ppi.value == pytest.approx(18 / 24 + 1 / 12)
    assert row.kappa.value == pooled(TEN).kappa.value


def test_a_criterion_that_nobody_labelled_is_in_no_pool() -> None:
    found = summarise([*decisions(TEN), *decisions([(None, "met")] * 50, "other")])
    assert found.pooled.decisions == 12
    assert [row.criterion for row in found.criteria] == ["c", "other"]


def test_people_who_differ_decide_by_majority_or_not_at_all() -> None:
    three = Decision("a", "c", "met", (("ann", "met"), ("bob", "met"), ("eve", "not_met")))
    tied = Decision("b", "c", "met", (("ann", "met"), ("bob", "not_met")))
    row = summarise([three, tied]).pooled
    assert (row.labelled, row.split, row.compared, row.accuracy.value) == (1, 1, 1, 1.0)
    assert row.alpha_people.value is not None
    assert row.alpha_with_judge.value is not None


def test_the_order_of_people_breaks_no_tie() -> None:
    one = Decision("b", "c", "met", (("ann", "met"), ("bob", "not_met")))
    other = Decision("b", "c", "met", (("ann", "not_met"), ("bob", "met")))
    assert one.person is other.person is None


def test_a_scale_has_a_weighted_kappa_and_is_in_no_pool() -> None:
    answers: Answers = [("none", "none"), ("some", "all"), ("all", "all"), ("none", "some"), ("all", "all")] * 3
    found = summarise([*decisions(answers, "s"), *decisions(TEN, "c")], scales={"s": ("none", "some", "all")})
    two, scale = found.criteria
    assert (two.criterion, scale.criterion) == ("c", "s")
    assert found.pooled.compared == 12
    assert scale.weighted_kappa.value is not None
    assert scale.kappa.value is not None
    assert scale.weighted_kappa.value > scale.kappa.value
    assert scale.decisive_kappa == scale.weighted_kappa
    assert scale.sensitivity.value is None
    assert two.decisive_kappa == two.kappa


def test_an_abstention_on_a_scale_that_is_an_error_is_the_farthest_choice() -> None:
    answers: Answers = [("none", "cannot_tell"), ("all", "cannot_tell"), ("some", "some")]
    (row,) = summarise(decisions(answers, "s"), scales={"s": ("none", "some", "all")}, abstentions="error").criteria
    assert {(cell.people, cell.judge) for cell in row.table} == {("none", "all"), ("all", "none"), ("some", "some")}


def test_a_few_right_answers_permit_nothing_and_many_do() -> None:
    right: Answers = [("met", "met"), ("not_met", "not_met")]
    few, many = pooled(right * 5), pooled(right * 30)
    assert (few.balanced_accuracy.value, few.automatic) == (1.0, False)
    assert "lower bound" in few.because
    assert many.automatic


def test_nothing_labelled_is_undefined_everywhere() -> None:
    found: Agreement = summarise(decisions([(None, "met"), (None, "not_met")]))
    assert found.pooled.decisions == 0
    (row,) = found.criteria
    assert (row.labelled, row.coverage, row.kappa.value, row.automatic) == (0, None, None, False)
    assert row.pass_rate.value == 0.5
    assert summarise([]).pooled.pass_rate.value is None
