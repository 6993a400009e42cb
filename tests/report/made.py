"""Grades made by hand, for what is shown of them."""

from __future__ import annotations

import io
from typing import Any

from rubricgrade.report.lines import write
from rubricgrade.report.terminal import render
from rubricgrade.result import CheckRecord, CriterionResult, GateResult, Grade, Subject

HASH = "sha256:" + "0123456789abcdef" * 4


def criterion(name: str, points: float | None, value: float | None, **more: Any) -> CriterionResult:
    verdict = "not_run" if value is None else "met" if value == 1 else "partly_met" if value else "not_met"
    earned = None if value is None or points is None else points * value
    facts: dict[str, Any] = {"by": "judge", "verdict": verdict, "description": f"about {name}", **more}
    return CriterionResult(id=name, points=points, value=value, earned=earned, **facts)


def gate(name: str, value: float | None, **more: Any) -> GateResult:
    verdict = "error" if value is None else "met" if value == 1 else "not_met"
    facts: dict[str, Any] = {"verdict": verdict, "description": f"gate {name}", **more}
    return GateResult(id=name, value=value, check=CheckRecord(kind="python", seconds=0.04), **facts)


def grade(score: float | None = 1.0, **more: Any) -> Grade:
    status = "ungraded" if score is None else "graded"
    facts: dict[str, Any] = {
        "status": status,
        "bounds": (0, 1) if score is None else (score, score),
        "ratio": score,
        "rubric": Subject(id="report", hash=HASH),
        "trajectory": Subject(id="episode-1", hash=HASH),
        **more,
    }
    return Grade(score=score, **facts)


def shown(grade_: Grade) -> str:
    page = io.StringIO()
    write(render(grade_), page)
    return page.getvalue()
