"""What must hold for the score of every rubric and every set of verdicts."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rubricgrade.rubric import Criterion, Rubric
from rubricgrade.rubric.rules import placed
from rubricgrade.scoring import Scored, exact, open_items, reaches, score
from tests.random_rubrics import VALUES, asked, graded, rubrics, verdicts


def by_definition(of: Rubric, values: Mapping[str, float | None]) -> float | None:
    """The score by the words of the format, for decided values: plain recursion, nothing shared with the package."""
    by_id = {one.criterion.id: one.criterion for one in placed(of)}

    def holds(one: Any) -> bool:
        return one.when is None or (of.vars["x"] is True) == (not one.when.startswith("not"))

    def earns(one: Criterion) -> bool:
        inside = one.criteria is None or any(earns(part) and (part.points or 0) > 0 for part in one.criteria)
        around = [group for group in by_id.values() if one in (group.criteria or ())]
        return holds(one) and inside and all(holds_all(group) for group in around)

    def holds_all(group: Criterion) -> bool:
        around = [outer for outer in by_id.values() if group in (outer.criteria or ())]
        return holds(group) and all(holds_all(outer) for outer in around)

    def value(one: Criterion) -> Fraction:
        if one.criteria is None:
            found = exact(values[one.id] or 0)
        else:
            parts = [part for part in one.criteria if earns(part)]
            positive = sum((exact(part.points or 0) for part in parts if (part.points or 0) > 0), Fraction(0))
            total = sum((exact(part.points or 0) * value(part) for part in parts), Fraction(0))
            found = min(max(total / (exact(one.full_at) if one.full_at else positive), Fraction(0)), Fraction(1))
        if one.at_least is not None:
            found = Fraction(found >= exact(one.at_least) - Fraction(1, 10**9))
        unmet = [need for need in one.needs if earns(by_id[need]) and value(by_id[need]) < 1 - Fraction(1, 10**9)]
        return Fraction(0) if unmet else found

    if any(not reaches(values[one.id] or 0, one.at_least) for one in of.gates):
        return 0.0
    if any(one.veto and reaches(float(value(one)), 1) for one in of.tops if earns(one)):
        return 0.0
    counted = [one for one in of.tops if not one.veto and earns(one)]
    possible = sum((exact(one.points or 0) for one in counted if (one.points or 0) > 0), Fraction(0))
    if not possible:
        return None
    total = sum((exact(one.points or 0) * value(one) for one in counted), Fraction(0))
    return float(min(max(total / possible, Fraction(0)), Fraction(1)))


def check_shape(scored: Scored) -> None:
    low, high = scored.bounds
    assert 0 <= low <= high <= 1
    if scored.score is not None:
        assert scored.bounds == (scored.score, scored.score)


@given(graded())
def test_the_score_is_what_the_format_says(case: tuple[Rubric, dict[str, float | None]]) -> None:
    of, values = case
    scored = score(of, values)
    check_shape(scored)
    assert scored.score == by_definition(of, values)


@settings(max_examples=400)
@given(graded(), st.data())
def test_a_grader_fault_gives_an_interval_that_holds_the_true_score(
    case: tuple[Rubric, dict[str, float | None]], data: st.DataObject
) -> None:
    of, values = case
    truth = score(of, values)
    lost = data.draw(st.sets(st.sampled_from(asked(of)), min_size=1))
    scored = score(of, {name: None if name in lost else value for name, value in values.items()})
    check_shape(scored)
    low, high = scored.bounds
    if truth.score is not None:
        assert low <= truth.score <= high
        assert scored.score in {None, truth.score}
    if scored.score is None:
        assert not scored.applicable or open_items(of, dict.fromkeys(values.keys() - lost, 0.0))


@given(graded(escapable=False), st.data())
def test_a_better_verdict_never_costs_and_a_worse_one_never_pays(
    case: tuple[Rubric, dict[str, float | None]], data: st.DataObject
) -> None:
    of, values = case
    signs = {one.criterion.id: one.sign for one in placed(of)}
    name = data.draw(st.sampled_from(asked(of)))
    raised = max(values[name] or 0, data.draw(VALUES))
    before, after = score(of, values).score, score(of, {**values, name: raised}).score
    assume(before is not None and after is not None)
    assert before is not None
    assert after is not None
    assert (after - before) * signs.get(name, 1) >= 0


@given(rubrics())
def test_whoever_does_everything_right_gets_the_whole_score(of: Rubric) -> None:
    signs = {one.criterion.id: one.sign for one in placed(of)}
    best = {name: float(signs.get(name, 1) > 0) for name in asked(of)}
    full = {one.criterion.id: one.criterion.full_at for one in placed(of)}
    assume(all(at is None for at in full.values()))
    scored = score(of, best)
    assert scored.score == (1.0 if scored.applicable else None)


@given(graded(), st.randoms(use_true_random=False))
def test_the_order_of_the_file_does_not_matter(
    case: tuple[Rubric, dict[str, float | None]], shuffler: random.Random
) -> None:
    of, values = case

    def mixed(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        inside = [{**one, "criteria": mixed(one["criteria"])} if one.get("criteria") else one for one in items]
        return shuffler.sample(inside, len(inside))

    data = of.model_dump(exclude_unset=True)
    other = Rubric.model_validate(
        {**data, "criteria": mixed(list(data["criteria"])), "gates": mixed(list(data["gates"]))}
    )
    pairs = shuffler.sample(list(values.items()), len(values))
    ours, theirs = score(of, values), score(other, dict(pairs))
    assert (ours.score, ours.ratio, ours.bounds) == (theirs.score, theirs.ratio, theirs.bounds)


@given(rubrics(gates=False), st.data())
def test_no_verdict_moves_the_denominator(of: Rubric, data: st.DataObject) -> None:
    def denominator() -> float:
        scored = score(of, data.draw(verdicts(of)))
        assume(scored.ratio is not None and abs(scored.ratio) > 1e-6)
        earned = sum(exact(top.points or 0) * scored.values[top.id].low for top in of.tops if top.id in scored.values)
        return float(earned / exact(scored.ratio or 1))

    assert denominator() == pytest.approx(denominator(), rel=1e-9)


@given(graded(), st.data())
def test_a_failed_gate_or_a_met_veto_is_zero(case: tuple[Rubric, dict[str, float | None]], data: st.DataObject) -> None:
    of, values = case
    hard = [one.id for one in of.gates] + [top.id for top in of.tops if top.veto]
    assume(hard)
    name = data.draw(st.sampled_from(hard))
    scored = score(of, {**values, name: 1.0 if name == "veto" else 0.0})
    assert (scored.score, scored.gated) == (0.0, True)
    assert name in (*scored.failed_gates, *scored.met_vetoes)
