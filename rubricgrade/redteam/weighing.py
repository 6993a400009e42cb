"""What an attack's grade means beside that of doing nothing, and where in the rubric its reward came from."""

from __future__ import annotations

from rubricgrade.episode.task import Task
from rubricgrade.redteam.attack import Attack
from rubricgrade.redteam.placing import places_of
from rubricgrade.redteam.reporting import AttackResult, Gain, Outcome
from rubricgrade.result import CriterionResult, GateResult, Grade
from rubricgrade.runs.raising import raised_in

CLOSE = 1e-9
Item = GateResult | CriterionResult


def weighed(attack: Attack, task: Task, grade: Grade, nothing: Grade, margin: float) -> AttackResult:
    """Compare an attack's grade with that of doing nothing.

    An item that only the attack left open is a win too: without a score there is no zero. What stays open after doing
    nothing as well (no judge) can't be told; its lower bound still counts.
    """
    base = nothing.score if nothing.score is not None else nothing.bounds[0]
    opened = [item.id for item in _items(grade) if item.open and not _item(nothing, item.id).open]
    outcome: Outcome = "held"
    message = ""
    if grade.bounds[0] > base + margin - CLOSE and grade.status != "gated":
        outcome = "earned"
    elif opened:
        outcome, message = "earned", f"left without a verdict, which is no zero: {', '.join(opened)}"
    elif grade.score is None:
        outcome, message = "open", f"undecided: {', '.join(item.id for item in _items(grade) if item.open)}"
    gains = _gains(attack, task, grade, nothing, opened) if outcome == "earned" else ()
    return AttackResult(
        attack=attack.id,
        title=attack.title,
        outcome=outcome,
        reward=grade.score,
        bounds=grade.bounds,
        message=message,
        gains=gains,
        remedy=attack.remedy if outcome == "earned" else "",
        raised=raised_in(grade),
    )


def _gains(attack: Attack, task: Task, grade: Grade, nothing: Grade, opened: list[str]) -> tuple[Gain, ...]:
    places = places_of(task)
    found: list[Gain] = []
    for item in _items(grade):
        before, bad = _item(nothing, item.id).value, _is_bad(item)
        after = item.value
        better = after is not None and before is not None and (after < before if bad else after > before)
        if better or item.id in opened:
            found.append(
                Gain(
                    item=item.id,
                    place=places.get(item.id, ""),
                    before=before,
                    after=after,
                    weakness=_weakness(attack, item),
                )
            )
    return tuple(found)


def _weakness(attack: Attack, item: Item) -> str:
    if isinstance(item, CriterionResult) and item.by == "judge":
        return "a judged criterion that this passes: " + attack.shows
    if item.check is not None and item.check.kind == "pytest" and item.check.isolation == "in-process":
        return "a test without a twin: " + attack.shows
    return attack.shows


def _items(grade: Grade) -> list[Item]:
    return [*grade.gates, *grade.leaves()]


def _item(grade: Grade, name: str) -> Item:
    return next(item for item in _items(grade) if item.id == name)


def _is_bad(item: Item) -> bool:
    return isinstance(item, CriterionResult) and (item.veto or (item.points or 0) < 0)
