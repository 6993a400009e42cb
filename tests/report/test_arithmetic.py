from __future__ import annotations

from typing import Any

import pytest

from rubricgrade.report.arithmetic import points_line, score_lines
from tests.report.made import criterion, gate, grade


def test_the_sum_of_the_seed() -> None:
    criteria = (
        criterion("flags-unapproved", 3, 1),
        criterion("breakdown", 2, 1),
        criterion("compares-q2", 2, 1),
        criterion("one-page", 1, 1),
        criterion("untraceable", -3, 0),
        criterion("emails-others", -2, 1),
    )
    assert score_lines(grade(0.75, criteria=criteria)) == ["3 + 2 + 2 + 1 - 2 = 6 of 8 -> 0.75"]


def test_what_is_not_in_the_sum_is_not_in_the_line() -> None:
    criteria = (
        criterion("counts", 2, 0.5),
        criterion("reported-only", 0, 1),
        criterion("not-here", 5, None, verdict="not_applicable"),
        criterion("leaked", None, 0, veto=True),
    )
    assert points_line(grade(0.5, criteria=criteria)) == "1 = 1 of 2"


def test_open_points_are_question_marks_and_give_no_sum() -> None:
    made = grade(None, bounds=(0.25, 0.75), criteria=(criterion("a", 2, None), criterion("b", -1, None)))
    assert score_lines(made) == [
        "? - ? of 2",
        "no score yet; 0.25 to 0.75 whatever the open verdicts turn out to be",
    ]


def test_clipping_is_told() -> None:
    made = grade(0.0, ratio=-0.5, criteria=(criterion("a", 2, 0), criterion("b", -1, 1)))
    assert score_lines(made) == ["0 - 1 = -1 of 2 -> 0 (clipped from -0.5)"]


@pytest.mark.parametrize(
    ("gates", "criteria", "line"),
    [
        ((gate("sent", 0),), (criterion("a", 2, None),), "gate sent failed -> 0"),
        ((), (criterion("a", 2, 1), criterion("leaked", None, 1, veto=True)), "veto leaked is met -> 0"),
    ],
)
def test_a_gated_grade_says_what_overruled_the_points(gates: Any, criteria: Any, line: str) -> None:
    made = grade(0.0, status="gated", ratio=None, gates=gates, criteria=criteria)
    assert score_lines(made) == [line]


def test_gates_only() -> None:
    assert score_lines(grade(1.0, gates=(gate("a", 1),))) == [
        "every gate passed and there is nothing else to earn -> 1"
    ]


def test_a_partly_passed_gate_fails_or_passes_by_its_own_bar() -> None:
    passed = grade(1.0, gates=(gate("a", 0.9, at_least=0.9),))
    failed = grade(0.0, status="gated", gates=(gate("a", 0.8, at_least=0.9),))
    assert "every gate passed" in score_lines(passed)[0]
    assert score_lines(failed) == ["gate a failed -> 0"]
