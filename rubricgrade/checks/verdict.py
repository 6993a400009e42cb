"""From what a check said to its outcome: numbers are range-checked here, whatever the check's process claims."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rubricgrade.checks.dialogue import Trouble
from rubricgrade.checks.messages import Found, evidence_of
from rubricgrade.checks.outcome import Outcome, Where
from rubricgrade.checks.settling import Settled
from rubricgrade.result import Evidence
from rubricgrade.rubric import Check, Criterion, Rubric


@dataclass(frozen=True, slots=True)
class Use:
    """What a check's result is used for: by items with bands, by items without."""

    banded: bool
    plain: bool


class Uses:
    """Who uses which check of a rubric, and for what."""

    def __init__(self, rubric: Rubric) -> None:
        self._rubric = rubric
        self._items = [*((gate, 1) for gate in rubric.gates), *_signed(rubric.tops, 1)]

    def of(self, check: Check, pick: str | None) -> Use:
        """How a check's result, or one field of it, is used."""
        users = [item for item, _ in self._items if self._rubric.check_of(item) is check and item.pick == pick]
        with_bands = [isinstance(item, Criterion) and item.bands is not None for item in users]
        return Use(banded=any(with_bands), plain=not all(with_bands) or not users)

    def worst_high(self, check: Check) -> bool:
        """Whether a higher value can cost the agent: on a penalty or a veto, or when ``not`` turns it around."""
        return any(
            _inside_not(used, check) or (used is check and isinstance(item, Criterion) and _costs(item, sign))
            for item, sign in self._items
            if (used := self._rubric.check_of(item)) is not None
        )


def outcome_of(kind: str, settled: Settled, worst_high: bool, *, compares: bool = True) -> Outcome:
    """The outcome of a check whose trouble, if any, has an owner.

    Args:
        kind: The kind of check.
        settled: How it went.
        worst_high: A high value costs the agent, so that cases which its code did not let be decided can't count low.
        compares: Something that the agent's code does not know is compared; else it decides itself, by its exit code.
    """
    where: Where = "out-of-process" if compares else "in-process"
    blank = Outcome(kind, isolation=where if settled.attempt.ran_agents_code else "none")
    trouble = settled.trouble
    if trouble is not None:
        return _failed(blank, trouble)
    said = settled.attempt.said
    if not isinstance(said, Found):
        return _failed(blank, Trouble("grader", "result", "the check ended without a result"))
    if kind == "pytest" and said.twinned:
        blank = replace(blank, isolation="in-process+twins")
    in_range = said.value is None or 0 <= said.value <= 1
    outcome = replace(
        blank,
        value=said.value if in_range else None,
        measured=said.value if said.measured is None and not in_range else said.measured,
        fields=said.fields,
        evidence=evidence_of(said.evidence),
        message=said.message,
        passed=said.passed,
        total=said.total,
    )
    if worst_high and said.faulted:
        message = f"{said.faulted} cases ended by a fault of the solution; {said.message}"
        return replace(outcome, value=None, fault="agent", message=message)
    return outcome


def picked(outcome: Outcome, use: Use, pick: str | None) -> Outcome:
    """What an item gets of a shared outcome: the value, or one field; complete for what the item needs.

    An item with bands needs a measured number, one without needs a value from 0 to 1.
    """
    if outcome.fault is not None:
        return outcome
    if pick is not None:
        if pick not in outcome.fields:
            has = ", ".join(sorted(outcome.fields)[:20]) or "none"
            return _failed(outcome, Trouble("grader", "pick", f"the check gave no field {pick!r}; it gave {has}"))
        number = outcome.fields[pick]
        outcome = replace(outcome, measured=number, value=number if 0 <= number <= 1 else None)
    if use.banded and outcome.measured is None and outcome.kind != "python":
        # A ready-made check measures what it finds; that there is no number to find is the agent's doing.
        return _failed(outcome, Trouble("agent", "measure", f"no number was found: {outcome.message}"))
    if use.plain and outcome.value is None:
        number = "no value" if outcome.measured is None else f"{outcome.measured:g}, which is not from 0 to 1"
        return _failed(outcome, Trouble("grader", "range", f"the check gave {number}; only 'bands' can use that"))
    return outcome


def _failed(outcome: Outcome, trouble: Trouble) -> Outcome:
    by_agent = trouble.origin == "agent"
    return replace(
        outcome,
        value=None,
        evidence=trouble.evidence or outcome.evidence or (Evidence(quote=trouble.message),),
        message=trouble.message,
        fault="agent" if by_agent else "grader",
        cause=None if by_agent else trouble.cause,
        raised=trouble.raised,
    )


def _signed(criteria: tuple[Criterion, ...], sign: int) -> Iterator[tuple[Criterion, int]]:
    """Every criterion with the sign of the groups around it."""
    for criterion in criteria:
        yield criterion, sign
        inner = sign if (criterion.points or 0) >= 0 else -sign
        yield from _signed(criterion.criteria or (), inner)


def _costs(criterion: Criterion, sign: int) -> bool:
    return criterion.points is None or criterion.points * sign < 0


def _inside_not(outer: Check, check: Check) -> bool:
    inner = outer.not_
    return inner is not None and (inner is check or _inside_not(inner, check))
