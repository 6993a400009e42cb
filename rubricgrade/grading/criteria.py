"""Criteria: code and judged ones at once, each turned into one result. Nothing here knows the score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rubricgrade.checks import Bench, ItemsFault
from rubricgrade.grading.gates import check_record
from rubricgrade.grading.together import together
from rubricgrade.judge import Judged, Judging
from rubricgrade.plural import count
from rubricgrade.result import Cause, CheckRecord, CriterionResult, GateResult
from rubricgrade.rubric import Check, Criterion, Judge, Rubric
from rubricgrade.scoring import banded, worst


async def decide_criteria(
    rubric: Rubric, gates: Sequence[GateResult], bench: Bench, judging: Judging, *, ungated: bool
) -> tuple[CriterionResult, ...]:
    """The result of every criterion, in the rubric's order.

    A gate that failed, or has no verdict, ends it here: nothing is asked and nothing is spent, unless `ungated`.
    """
    stop = None if ungated else _stopped_by(gates)
    decide = _Decide(rubric, bench, judging, stop)
    return await together(decide.one(top, sign=1, applies=True) for top in rubric.tops)


@dataclass(frozen=True, slots=True)
class _Stop:
    cause: Cause
    message: str


def _stopped_by(gates: Sequence[GateResult]) -> _Stop | None:
    failed = [gate.id for gate in gates if gate.verdict == "not_met"]
    if failed:
        return _Stop("gate_failed", f"not asked: gate {failed[0]} failed")
    return next(
        (
            _Stop(gate.cause or "check_error", f"not asked: gate {gate.id} has no verdict")
            for gate in gates
            if gate.open
        ),
        None,
    )


@dataclass(frozen=True, slots=True)
class _Decide:
    rubric: Rubric
    bench: Bench
    judging: Judging
    stop: _Stop | None

    async def one(self, criterion: Criterion, *, sign: int, applies: bool) -> CriterionResult:
        """One criterion; `sign` is that of the groups around it."""
        applies = applies and self.rubric.applies(criterion)
        blank = CriterionResult(
            id=criterion.id,
            description=self.rubric.wording(criterion.description),
            tags=criterion.tags,
            verdict="not_applicable",
            by=criterion.decided_by,
            points=criterion.points,
            veto=criterion.veto,
        )
        if criterion.criteria is not None:
            inner = sign if (criterion.points or 0) >= 0 else -sign
            parts = await together(self.one(part, sign=inner, applies=applies) for part in criterion.criteria)
            applies = applies and any(part.verdict != "not_applicable" for part in parts)
            # Its value follows from its parts, by arithmetic.
            return blank.model_copy(update={"parts": parts, "verdict": "not_run" if applies else "not_applicable"})
        if not applies:
            return blank
        if self.stop is not None:
            return blank.model_copy(
                update={"verdict": "not_run", "cause": self.stop.cause, "message": self.stop.message}
            )
        if (check := self.rubric.check_of(criterion)) is not None:
            return await self._by_check(blank, criterion, check, sign)
        if criterion.judge is not None:
            return await self._by_judge(blank, criterion, sign)
        return blank.model_copy(
            update={"verdict": "not_run", "cause": "needs_review", "message": "open until a reviewer has decided it"}
        )

    async def _by_check(self, blank: CriterionResult, criterion: Criterion, check: Check, sign: int) -> CriterionResult:
        outcome = await self.bench.run(check, pick=criterion.pick)
        found = {
            "message": outcome.message,
            "evidence": outcome.evidence,
            "fault": outcome.fault,
            "cause": outcome.cause,
            "check": check_record(outcome),
        }
        if outcome.fault == "grader":
            return blank.model_copy(update={**found, "verdict": "error"})
        if outcome.fault == "agent":
            value: float | None = worst(criterion.points, sign)
        elif criterion.bands is not None:
            value = None if outcome.measured is None else banded(criterion.bands, outcome.measured)
        else:
            value = outcome.value
        if value is None:
            missing = (
                "the check measured no number, which 'bands' need" if criterion.bands else "the check gave no value"
            )
            wrong = {"verdict": "error", "fault": "grader", "cause": "check_error", "message": missing}
            return blank.model_copy(update={**found, **wrong})
        return blank.model_copy(update={**found, "value": value, "verdict": verdict_of(value)})

    async def _by_judge(self, blank: CriterionResult, criterion: Criterion, sign: int) -> CriterionResult:
        if criterion.for_each is None:
            judged = await self.judging.decide(criterion)
            return _judged(blank, judged, self._doubt(criterion, sign))
        try:
            items = await items_of(criterion, self.rubric, self.bench)
        except ItemsFault as fault:
            record = CheckRecord(kind="python", raised=fault.raised) if fault.raised else None
            found = {"message": fault.message, "fault": fault.fault, "check": record}
            if fault.fault == "agent":
                value = worst(criterion.points, sign)
                return blank.model_copy(update={**found, "value": value, "verdict": verdict_of(value)})
            return blank.model_copy(update={**found, "verdict": "error", "cause": fault.cause})
        if not items:
            value = 1.0 if criterion.for_each.if_none == "met" else 0.0
            message = f"no items; counts as {criterion.for_each.if_none}"
            return blank.model_copy(update={"value": value, "verdict": verdict_of(value), "message": message})
        parts = await together(self._item(blank, criterion, item, number, sign) for number, item in enumerate(items, 1))
        return _mean(blank, parts)

    async def _item(
        self, blank: CriterionResult, criterion: Criterion, item: str, number: int, sign: int
    ) -> CriterionResult:
        judged = await self.judging.decide(criterion, item)
        update = {
            "id": f"{criterion.id}[{number}]",
            "description": self.rubric.wording(criterion.description, item),
            "points": None,
            "veto": False,
        }
        return _judged(blank.model_copy(update=update), judged, self._doubt(criterion, sign))

    def _doubt(self, criterion: Criterion, sign: int) -> float | None:
        """What ``cannot_tell`` counts as by the author's choice; None leaves it open."""
        settings = (criterion.judge or Judge()).over(self.rubric.judge)
        return worst(criterion.points, sign) if settings.if_cannot_tell == "worst" else None


async def items_of(criterion: Criterion, rubric: Rubric, bench: Bench) -> tuple[str, ...]:
    """The items of a criterion's `for_each`.

    Raises:
        ItemsFault: They can't be had, or are too many.
    """
    source = criterion.for_each
    if source is None or source.python is None:
        listed = rubric.vars[source.vars or ""] if source else ()
        items = listed if isinstance(listed, tuple) else ()
    else:
        items = await bench.items(source.python)
    most = source.at_most if source else 0
    if len(items) > most:
        raise ItemsFault("grader", f"{count(len(items), 'item')}, more than at_most: {most}", cause="check_error")
    return items


def verdict_of(value: float) -> str:
    """The verdict that a value from 0 to 1 stands for, where no judge chose one."""
    return "met" if value == 1 else "not_met" if value == 0 else "partly_met"


def _judged(blank: CriterionResult, judged: Judged, doubt: float | None) -> CriterionResult:
    value, cause, message = judged.value, judged.cause, judged.message
    if value is None and judged.verdict == "cannot_tell" and cause == "cannot_tell" and doubt is not None:
        value, cause = doubt, None
        message = f"{message}; counts as the worst value by if_cannot_tell".lstrip("; ")
    return blank.model_copy(
        update={
            "verdict": judged.verdict,
            "value": value,
            "cause": cause,
            "message": message,
            "reasoning": judged.reasoning,
            "evidence": judged.evidence,
            "judge": judged.record,
            "fault": "grader" if judged.verdict == "error" else None,
        }
    )


def _mean(blank: CriterionResult, parts: tuple[CriterionResult, ...]) -> CriterionResult:
    values = [part.value for part in parts if part.value is not None]
    if len(values) < len(parts):
        first = next(part for part in parts if part.value is None)
        message = f"open: {len(parts) - len(values)} of {count(len(parts), 'item')}"
        return blank.model_copy(
            update={
                "parts": parts,
                "verdict": first.verdict,
                "cause": first.cause,
                "fault": first.fault,
                "message": message,
            }
        )
    value = sum(values) / len(values)
    update = {
        "parts": parts,
        "value": value,
        "verdict": verdict_of(value),
        "message": f"mean of {count(len(parts), 'item')}",
    }
    return blank.model_copy(update=update)
