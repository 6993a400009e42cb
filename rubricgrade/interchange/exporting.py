"""A rubric of ours in another program's format, as far as that can hold it; the rest is listed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from rubricgrade.errors import Fault, InputError
from rubricgrade.loading.yamltext import to_yaml
from rubricgrade.rubric import Criterion, Rubric

EVEN = 1e-9


@dataclass(frozen=True, slots=True)
class Exported:
    """A rubric in another format.

    Attributes:
        text: The file's text.
        lost: What is not in it, a sentence each.
    """

    text: str
    lost: tuple[str, ...]


@dataclass(slots=True)
class Writing:
    """One export under way: what is written of, and what gets lost."""

    rubric: Rubric
    lost: list[str] = field(default_factory=list[str])

    def lose(self, what: str) -> None:
        """Note a loss, once."""
        if what not in self.lost:
            self.lost.append(what)

    def leaves(self) -> Iterator[tuple[Criterion, float]]:
        """Every criterion for a judge with its share of the points; what no list can hold is lost."""
        for gate in self.rubric.gates:
            self.lose(f"gate {gate.id!r}: a check by code, which ends at a score of 0")
        for name in ("vars", "checks"):
            if getattr(self.rubric, name):
                self.lose(f"'{name}' of the rubric")
        yield from self._walk(self.rubric.tops, 1.0)

    def scale(self, criterion: Criterion, *, even: bool = False) -> list[tuple[str, float]] | None:
        """Choices with values, worst first; None for yes and no. Uneven ones are lost where they must be even."""
        judge = criterion.judge
        if judge is None or judge.scale is None:
            return None
        steps = [(choice.choice, choice.value) for choice in judge.scale]
        gaps = [high - low for (_, low), (_, high) in pairwise(steps)]
        ends = abs(steps[0][1]) < EVEN and abs(steps[-1][1] - 1) < EVEN
        if even and not (ends and max(gaps) - min(gaps) < EVEN):
            self.lose(f"{criterion.id!r}: the values of its choices, which are taken as evenly spaced from 0 to 1")
        return steps

    def binary(self, criterion: Criterion) -> None:
        """Note the loss of a scale."""
        if self.scale(criterion) is not None:
            self.lose(f"{criterion.id!r}: its scale; it is asked as yes or no")

    def _walk(self, criteria: tuple[Criterion, ...], share: float) -> Iterator[tuple[Criterion, float]]:
        for one in criteria:
            points = one.points or 0.0
            if one.veto:
                self.lose(f"{one.id!r}: a veto, which makes the score 0")
            elif one.criteria is not None:
                whole = sum(part.points or 0.0 for part in one.criteria if (part.points or 0.0) > 0)
                if (
                    one.full_at is not None
                    or one.at_least is not None
                    or any((p.points or 0) < 0 for p in one.criteria)
                ):
                    self.lose(f"group {one.id!r}: how its parts are counted together; they are listed by their shares")
                yield from self._walk(one.criteria, share * points / whole)
            elif one.judge is None:
                self.lose(f"{one.id!r}: decided by {'code' if one.check is not None else 'a reviewer'}")
            else:
                self._note_settings(one)
                yield one, share * points

    def _note_settings(self, one: Criterion) -> None:
        for name in ("when", "needs", "for_each", "at_least", "examples"):
            if getattr(one, name):
                self.lose(f"{one.id!r}: '{name}'")
        judge = one.judge.over(self.rubric.judge) if one.judge is not None else None
        settings = judge.model_dump(exclude_defaults=True, exclude={"scale"}) if judge is not None else {}
        for name in settings:
            self.lose(f"{one.id!r}: 'judge.{name}'")


def export_rubric(rubric: Rubric, to: str) -> Exported:
    """Write a rubric in another format.

    Args:
        rubric: To be written.
        to: One of `EXPORTS`.

    Raises:
        InputError: There is no such format, or nothing of the rubric fits into it.
    """
    if to not in EXPORTS:
        raise InputError(Fault(f"there is no format {to!r} to write; known are {', '.join(EXPORTS)}"))
    writing = Writing(rubric)
    text = EXPORTS[to](writing, list(writing.leaves()))
    return Exported(text, tuple(writing.lost))


Leaves = list[tuple[Criterion, float]]


def _needed(leaves: Leaves, to: str) -> Leaves:
    if not leaves:
        raise InputError(Fault(f"no criterion of this rubric can be written as {to}"))
    return leaves


def _positive(writing: Writing, leaves: Leaves, to: str) -> Leaves:
    for one, points in leaves:
        if points < 0:
            writing.lose(f"{one.id!r}: negative points, which {to} does not have")
    return _needed([(one, points) for one, points in leaves if points >= 0], to)


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _gandalf(writing: Writing, leaves: Leaves) -> str:
    for one, _ in _needed(leaves, "gandalf"):
        writing.binary(one)
        if one.tags:
            writing.lose(f"{one.id!r}: its tags")
    return _json([{"criterion": one.description, "weight": points} for one, points in leaves])


def _requirements(writing: Writing, leaves: Leaves) -> str:
    for one, _ in _needed(leaves, "rubric"):
        writing.binary(one)
        if one.tags:
            writing.lose(f"{one.id!r}: its tags")
    return _json([{"weight": points, "requirement": one.description} for one, points in leaves])


def _healthbench(writing: Writing, leaves: Leaves) -> str:
    for one, _ in _needed(leaves, "healthbench"):
        writing.binary(one)
    rows = [{"criterion": one.description, "points": points, "tags": list(one.tags)} for one, points in leaves]
    return json.dumps({"prompt_id": writing.rubric.id, "prompt": [], "rubrics": rows}, ensure_ascii=False) + "\n"


def _autorubric(writing: Writing, leaves: Leaves) -> str:
    criteria: list[dict[str, Any]] = []
    for one, points in _needed(leaves, "autorubric"):
        made: dict[str, Any] = {"name": one.id, "weight": points, "requirement": one.description}
        if one.tags:
            writing.lose(f"{one.id!r}: its tags")
        if (steps := writing.scale(one)) is not None:
            made |= {"scale_type": "ordinal", "options": [{"label": text, "value": value} for text, value in steps]}
        criteria.append(made)
    return to_yaml({"criteria": criteria})


def _verifiers(writing: Writing, leaves: Leaves) -> str:
    criteria: list[dict[str, Any]] = []
    for one, points in _positive(writing, leaves, "verifiers"):
        made: dict[str, Any] = {"name": one.id, "text": one.description, "weight": points}
        if one.tags:
            writing.lose(f"{one.id!r}: its tags")
        if (steps := writing.scale(one, even=True)) is not None:
            made["choices"] = [text for text, _ in steps]
        criteria.append(made)
    return _json({"criteria": criteria})


def _rewardkit(writing: Writing, leaves: Leaves) -> str:
    lines = ["[scoring]", 'aggregation = "weighted-mean"']
    for one, points in _positive(writing, leaves, "rewardkit"):
        made: dict[str, Any] = {"name": one.id, "description": one.description, "weight": points}
        if one.tags:
            writing.lose(f"{one.id!r}: its tags")
        if (steps := writing.scale(one, even=True)) is not None:
            made |= {"type": "rubric", "levels": [text for text, _ in steps]}
        lines += ["", "[[criterion]]", *(f"{key} = {_toml(value)}" for key, value in made.items())]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """Text, numbers and lists of text as TOML, whose basic strings are those of JSON but for one control character."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")


EXPORTS: dict[str, Callable[[Writing, Leaves], str]] = {
    "gandalf": _gandalf,
    "rubric": _requirements,
    "healthbench": _healthbench,
    "autorubric": _autorubric,
    "verifiers": _verifiers,
    "rewardkit": _rewardkit,
}
"""By name."""
