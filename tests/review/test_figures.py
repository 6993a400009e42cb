from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from rubricgrade.agreement import Undefined
from rubricgrade.review import acting
from rubricgrade.review.exporting import labels_of
from rubricgrade.review.figures import figures, weighted_shares
from rubricgrade.review.queue import Mix
from tests.review.acts import decide, item_of
from tests.review.made import desk_of

VERDICTS = {
    ("one", "polite"): "met", ("one", "complete"): "not_met", ("one", "leaks"): "not_met", ("one", "tone"): "neutral",
    ("two", "polite"): "not_met", ("two", "complete"): "not_met", ("two", "leaks"): "not_met", ("two", "tone"): "cold",
}  # fmt: skip


def test_figures_are_those_of_a_recount(run: Path) -> None:
    desk = desk_of(run)
    for (episode, criterion), verdict in VERDICTS.items():
        decide(desk, episode, criterion, verdict)
    found = figures(desk, "anna", draws=200)
    judged = {
        (file.parent.parent.name, result["id"]): result["verdict"]
        for file in run.rglob("grades/*.json")
        for result in json.loads(file.read_text())["criteria"]
    }
    labels = {(label.trajectory, label.criterion): label.verdict for label in labels_of(desk)}
    assert labels == VERDICTS
    for row in found.agreement.criteria:
        same = [judged[name] == verdict for name, verdict in labels.items() if name[1] == row.criterion]
        if same:
            assert (row.compared, row.accuracy.value) == (len(same), sum(same) / len(same))
    pairs = Counter((verdict, judged[name]) for name, verdict in labels.items() if name[1] != "tone")
    agree = (pairs["met", "met"] + pairs["not_met", "not_met"]) / 6
    people, judge = (
        (pairs["met", "met"] + pairs["met", "not_met"]) / 6,
        (pairs["met", "met"] + pairs["not_met", "met"]) / 6,
    )
    chance = people * judge + (1 - people) * (1 - judge)
    assert found.agreement.pooled.kappa.value == pytest.approx((agree - chance) / (1 - chance))
    equal = sum(judged[name] == verdict for name, verdict in labels.items())
    assert found.weighted["agreement"].value == pytest.approx(equal / len(labels)), "scales are in it: equal or not"


def test_only_first_verdicts_count(run: Path) -> None:
    desk = desk_of(run)
    decide(desk, "one", "polite", "not_met")
    decide(desk, "one", "polite", "met", why="I overlooked it")
    acting.reveal(desk, item_of(desk, "two", "polite"), "anna")
    decide(desk, "two", "polite", "met")
    found = figures(desk, "anna", draws=100)
    (row,) = [row for row in found.agreement.criteria if row.labelled]
    assert (row.criterion, row.labelled, row.accuracy.value) == ("polite", 1, 0.0)
    moves = found.moves["polite"]
    assert (moves.first, moves.moved, moves.to_judge) == (1, 1, 1)


def test_nothing_is_counted_that_the_reader_has_not_decided(run: Path) -> None:
    desk = desk_of(run)
    decide(desk, "one", "polite", "not_met", by="ben")
    found = figures(desk, "anna", draws=100)
    assert found.left_out == 1
    assert not any(row.labelled for row in found.agreement.criteria)
    assert found.agreement.criteria == ()
    decide(desk, "one", "polite", "met", by="anna")
    found = figures(desk, "anna", draws=100)
    assert found.left_out == 0
    assert [row.split for row in found.agreement.criteria] == [1]


def test_the_judge_is_measured_against_what_was_settled(run: Path) -> None:
    desk = desk_of(run)
    decide(desk, "one", "polite", "not_met")
    acting.adjudicate(desk, item_of(desk, "one", "polite"), "anna", "met", cause="reviewer_wrong", why="it greets")
    moves = figures(desk, "anna", draws=100).moves["polite"]
    assert (moves.settled, moves.judge_right) == (1, 1)


def test_weights_are_inverse_probabilities() -> None:
    shares = weighted_shares(
        {
            ("met", "met", 0.5): 3,
            ("not_met", "met", 1.0): 2,
            ("not_met", "not_met", 0.25): 1,
            ("met", "not_met", 1.0): 1,
        }
    )
    assert shares["agreement"] == pytest.approx((6 + 4) / 13)
    assert shares["false_pass"] == pytest.approx(2 / 6)
    assert shares["false_fail"] == pytest.approx(1 / 7)
    assert isinstance(weighted_shares({("met", "met", 1.0): 1})["false_pass"], Undefined)


def test_what_a_draw_holds_is_weighted_and_what_it_does_not_is_not(run: Path) -> None:
    desk = desk_of(run)
    desk.draw("anna", size=2, mix=Mix(100, 0, 0), seed=0)
    decide(desk, "one", "complete", "not_met")
    decide(desk, "one", "polite", "met")
    found = figures(desk, "anna", draws=100)
    assert found.drawn == 1
    assert not found.covered
    assert found.weighted["agreement"].value == 0.0
    assert sum(row.labelled for row in found.agreement.criteria) == 2


def test_both_halves_make_the_whole(run: Path) -> None:
    desk = desk_of(run)
    for (episode, criterion), verdict in VERDICTS.items():
        decide(desk, episode, criterion, verdict)
    halves = [
        sum(row.labelled for row in figures(desk, "anna", split=split, draws=100).agreement.criteria)
        for split in ("dev", "test")
    ]
    assert sum(halves) == len(VERDICTS)
