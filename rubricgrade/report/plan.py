"""A plan of judging as a table and as JSON: calls, tokens and money per criterion, each as a range."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rubricgrade.grading.planning import Plan
from rubricgrade.judge.estimating import Estimate
from rubricgrade.judge.planning import NOBODY
from rubricgrade.report.numbers import money
from rubricgrade.report.visible import visible

SCHEMA = "rubricgrade.plan/1"

_HEAD = ("criterion", "calls", "tokens in", "tokens out", "cost")


def plan_lines(plan: Plan) -> Iterator[str]:
    """A table with a line for each criterion and one for all, then what it rests on."""
    rows = [_HEAD, *(_row(visible(name), estimate) for name, estimate in plan.criteria.items())]
    rows.append(_row("all", plan.total))
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        yield "  ".join([row[0].ljust(widths[0]), *cells[1:]])
    yield ""
    yield f"trajectories: {plan.trajectories}; no model was called"
    notes = _notes(plan)
    if notes:
        yield "; ".join(f"{number} {note}" for note, number in notes.items())
    yield "Gates are taken for passed. Calls that fail and are made again come on top."
    unnamed = dict.fromkeys(each.criterion for each in plan.planned if NOBODY in each.note)
    # Calls that several share are counted at one of them, tokens at each.
    if unnamed and unnamed.keys() == {each.criterion for each in plan.planned if each.estimate.input_tokens[1]}:
        yield "No judge is named, so nobody would be asked; the figures are for any one model. Use --judge."
    elif unnamed:
        names = ", ".join(map(visible, unnamed))
        yield f"No judge is named for {names}, so nobody would be asked about them; the figures are for any one model."
    elif plan.total.cost is None:
        yield "A price is not known: give it with --judge-price IN/OUT, or in Python as `extra`."
    for fault in plan.faults:
        yield f"not planned: {visible(fault)}"


def plan_document(plan: Plan) -> dict[str, Any]:
    """The same as one JSON document."""
    return {
        "schema": SCHEMA,
        "trajectories": plan.trajectories,
        "criteria": {name: _facts(estimate) for name, estimate in plan.criteria.items()},
        "total": _facts(plan.total),
        "notes": _notes(plan),
        "faults": list(plan.faults),
    }


def _row(name: str, estimate: Estimate) -> tuple[str, ...]:
    cost = "unknown" if estimate.cost is None else _range(*map(money, estimate.cost))
    spans = (estimate.calls, estimate.input_tokens, estimate.output_tokens)
    return (name, *(_range(f"{low:,}", f"{high:,}") for low, high in spans), cost)


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _facts(estimate: Estimate) -> dict[str, Any]:
    return {
        "calls": estimate.calls,
        "input_tokens": estimate.input_tokens,
        "output_tokens": estimate.output_tokens,
        "cost": estimate.cost,
    }


def _notes(plan: Plan) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in plan.planned:
        if each.note:
            found[each.note] = found.get(each.note, 0) + 1
    return found
