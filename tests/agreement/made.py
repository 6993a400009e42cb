"""Grades of judged criteria, as they would stand beside trajectories, and labels for them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rubricgrade import digest
from rubricgrade.agreement import Label
from rubricgrade.result import CriterionResult, GateResult, Grade, JudgeRecord, Subject
from rubricgrade.store.grades import write_grade

VALUES = {"met": 1.0, "not_met": 0.0, "none": 0.0, "some": 0.5, "all": 1.0}


def judged(name: str, verdict: str, *, cause: Any = None, **more: Any) -> CriterionResult:
    facts: dict[str, Any] = {"by": "judge", "points": 1, "judge": JudgeRecord(model="openai/a"), **more}
    return CriterionResult(
        id=name, description=f"about {name}", verdict=verdict, value=VALUES.get(verdict), cause=cause, **facts
    )


def grade(trajectory: str, *criteria: CriterionResult, gates: Iterable[GateResult] = (), rubric: str = "r") -> Grade:
    """Ungraded whatever its criteria say: scores are of no interest here."""
    return Grade(
        status="ungraded",
        score=None,
        bounds=(0, 1),
        cause="cannot_tell",
        rubric=Subject(id=rubric, hash=digest.of_value(rubric)),
        trajectory=Subject(id=trajectory, hash=digest.of_value(["trajectory", trajectory])),
        judge=Subject(id="openai/a", hash=digest.of_value("judge")),
        gates=tuple(gates),
        criteria=criteria,
    )


def label(trajectory: str, criterion: str, verdict: str, by: str = "ann", line: int = 0) -> Label:
    return Label(trajectory=trajectory, criterion=criterion, verdict=verdict, by=by, line=line)


def write_run(top: Path, grades: dict[str, Grade]) -> Path:
    """A folder of episodes, by the episodes' places in it."""
    for place, each in grades.items():
        write_grade(each, top / place)
    return top


def write_labels(path: Path, labels: Iterable[Label]) -> Path:
    lines = [json.dumps(each.model_dump(exclude={"why"})) for each in labels]
    path.write_text("\n".join(lines) + "\n")
    return path
