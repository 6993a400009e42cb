"""Gates: all of them are run, at once, even when one has failed or erred, so that the evidence is whole."""

from __future__ import annotations

from rubricgrade.checks import Bench, Outcome
from rubricgrade.grading.together import together
from rubricgrade.result import CheckRecord, GateResult
from rubricgrade.rubric import Gate, Rubric
from rubricgrade.scoring import reaches


async def decide_gates(rubric: Rubric, bench: Bench) -> tuple[GateResult, ...]:
    """The result of every gate, in the rubric's order."""
    return await together(_decide(gate, rubric, bench) for gate in rubric.gates)


async def _decide(gate: Gate, rubric: Rubric, bench: Bench) -> GateResult:
    blank = GateResult(
        id=gate.id,
        description=rubric.wording(gate.description),
        tags=gate.tags,
        verdict="not_applicable",
        at_least=gate.at_least,
    )
    check = rubric.check_of(gate)
    if check is None or not rubric.applies(gate):
        return blank
    outcome = await bench.run(check, pick=gate.pick)
    found = {
        "message": outcome.message,
        "evidence": outcome.evidence,
        "fault": outcome.fault,
        "cause": outcome.cause,
        "check": check_record(outcome),
    }
    if outcome.fault == "grader":
        return blank.model_copy(update={**found, "verdict": "error"})
    value = 0.0 if outcome.fault == "agent" else outcome.value
    if value is None:
        wrong = {"verdict": "error", "fault": "grader", "cause": "check_error", "message": "the check gave no value"}
        return blank.model_copy(update={**found, **wrong})
    verdict = "met" if reaches(value, gate.at_least) else "not_met"
    return blank.model_copy(update={**found, "verdict": verdict, "value": value})


def check_record(outcome: Outcome) -> CheckRecord:
    """What a grade keeps of how a check came to its value."""
    return CheckRecord.model_validate(
        {
            "kind": outcome.kind,
            "isolation": outcome.isolation,
            "seconds": outcome.seconds,
            "measured": outcome.measured,
            "fields": dict(outcome.fields),
            "passed": outcome.passed,
            "total": outcome.total,
            "raised": outcome.raised,
        }
    )
