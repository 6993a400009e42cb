from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricgrade.report.exits import Exit
from rubricgrade.report.summary import summarise
from rubricgrade.result import Grade, Usage
from tests.report.made import gate, grade

GATED = grade(0.0, status="gated", gates=(gate("sent", 0),))


def ungraded(cause: str, *others: str) -> Grade:
    return grade(None, cause=cause, causes=(cause, *others))


grades = st.lists(
    st.one_of(
        st.floats(0, 1).map(grade),
        st.just(GATED),
        st.sampled_from(["judge_failed", "check_error", "budget"]).map(ungraded),
    ),
    max_size=12,
)


@given(grades, st.none() | st.floats(0, 1))
def test_counts_add_up_and_an_ungraded_one_is_in_no_mean(made: list[Grade], bar: float | None) -> None:
    summary = summarise(made, min_score=bar)
    assert summary.n == len(made) == summary.graded + summary.gated + summary.ungraded
    assert sum(summary.causes.values()) == summary.ungraded
    assert summary.counted == summary.graded + summary.gated
    assert (summary.mean is None) == (summary.counted == 0)


@pytest.mark.parametrize(
    ("made", "bar", "code", "words"),
    [
        ([grade(0.2)], None, Exit.DONE, "everything is graded"),
        ([GATED], None, Exit.DONE, "everything is graded"),
        (
            [grade(1.0), grade(1.0), grade(0.5)],
            0.8,
            Exit.DONE,
            "mean score 0.8333 of 3 grades, asked for at least 0.8: reached",
        ),
        ([grade(1.0), GATED], 0.8, Exit.BELOW, "mean score 0.5 of 2 grades, asked for at least 0.8: below"),
        ([grade(0.7), grade(0.8), grade(0.9)], 0.8, Exit.DONE, "reached"),
        ([grade(1.0), ungraded("judge_failed")], 0.1, Exit.UNGRADED, "1 of 2 ungraded"),
        ([grade(0.0), ungraded("judge_failed")], 0.9, Exit.UNGRADED, "1 of 2 ungraded"),
        ([ungraded("judge_failed", "budget"), ungraded("check_error")], None, Exit.COST_CAP, "cost cap"),
    ],
)
def test_one_rule_for_the_exit_code_and_its_words(made: list[Grade], bar: float | None, code: Exit, words: str) -> None:
    summary = summarise(made, min_score=bar)
    assert summary.exit_code == code
    assert words in summary.verdict
    expected: Any = {Exit.DONE: True, Exit.BELOW: False}.get(code) if bar is not None else None
    assert summary.reached is expected


def test_an_interrupted_run_says_how_far_it_came() -> None:
    summary = summarise([grade(1.0)], min_score=0.5, of=3)
    assert (summary.exit_code, summary.missing, summary.reached) == (130, 2, None)
    assert summary.verdict == "interrupted: 1 of 3 done"


def test_one_unknown_cost_makes_the_sum_unknown() -> None:
    known = grade(1.0, usage=Usage(calls=2, cost=0.25))
    assert summarise([known, known]).cost == 0.5
    assert summarise([known, known]).calls == 4
    assert summarise([known, grade(1.0, usage=Usage(calls=1, cost=None))]).cost is None
