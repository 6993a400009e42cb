"""The grade of a trajectory that could not be looked at: everything that applies is open, and says why."""

from __future__ import annotations

from rubricgrade.grading.assembly import assemble
from rubricgrade.result import Cause, CriterionResult, GateResult, Grade, Isolation, Subject
from rubricgrade.rubric import Criterion, Gate, Rubric
from rubricgrade.trajectory import Trajectory


def unreached(rubric: Rubric, trajectory: Trajectory, judge: Subject | None, *, cause: Cause, message: str) -> Grade:
    """A grade without a score, since whoever was to grade was lost.

    Args:
        rubric: The rubric.
        trajectory: The trajectory.
        judge: Which judge was asked for.
        cause: Why nothing was decided.
        message: The same for people.
    """

    def gate(item: Gate) -> GateResult:
        found = GateResult(
            id=item.id,
            description=rubric.wording(item.description),
            tags=item.tags,
            verdict="not_applicable",
            at_least=item.at_least,
        )
        if not rubric.applies(item):
            return found
        return found.model_copy(update={"verdict": "error", "cause": cause, "fault": "grader", "message": message})

    def criterion(item: Criterion, *, inside: bool = True) -> CriterionResult:
        applies = inside and rubric.applies(item)
        found = CriterionResult(
            id=item.id,
            description=rubric.wording(item.description),
            tags=item.tags,
            verdict="not_run" if applies else "not_applicable",
            by=item.decided_by,
            points=item.points,
            veto=item.veto,
            parts=tuple(criterion(part, inside=applies) for part in item.criteria or ()),
        )
        if not applies or item.criteria is not None:
            return found
        return found.model_copy(update={"cause": cause, "message": message})

    return assemble(
        rubric,
        trajectory,
        [gate(item) for item in rubric.gates],
        [criterion(item) for item in rubric.tops],
        judge=judge,
        workspace=None,
        isolation=Isolation(),
        seconds=0.0,
    )
