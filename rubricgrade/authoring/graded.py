"""What a test may ask of a grade: each question passes, or fails with what was missed and the quotes."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rubricgrade.authoring.testing import Trials
from rubricgrade.errors import InputError, RubricgradeError
from rubricgrade.evidence import one_line
from rubricgrade.result import CriterionResult, GateResult, Grade

CLOSE = 1e-9
LENGTH = 500


class Ungraded(RubricgradeError):
    """The grader failed: there is no score, and nothing is said about the agent."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Graded:
    """A grade with a score.

    Attributes:
        grade: All of it.
    """

    grade: Grade

    @property
    def score(self) -> float:
        """0 to 1."""
        return self.grade.score or 0.0

    def must_score(self, at_least: float = 0.0, *, at_most: float = 1.0) -> None:
        """Ask for a score within bounds (compared at 1e-9).

        Raises:
            AssertionError: It is outside; names what was missed, or for a score that is too high what was met.
        """
        __tracebackhide__ = True
        if self.score < at_least - CLOSE:
            raise AssertionError(self._told(f"asked for at least {at_least:g}", self._missed()))
        if self.score > at_most + CLOSE:
            raise AssertionError(self._told(f"asked for at most {at_most:g}", self._met()))

    def must_meet(self, *ids: str) -> None:
        """Ask for gates passed and criteria fully met.

        Raises:
            AssertionError: One is not.
            InputError: The rubric has no such gate or criterion.
        """
        __tracebackhide__ = True
        wrong = [item for item in self._named(ids) if not _holds(item)]
        if wrong:
            raise AssertionError(self._told(f"{_names(wrong)}: not met", wrong))

    def must_miss(self, *ids: str) -> None:
        """Ask for gates failed and criteria with value 0: penalties that were escaped, for example.

        Raises:
            AssertionError: One is met, in part or whole.
            InputError: The rubric has no such gate or criterion.
        """
        __tracebackhide__ = True
        wrong = [item for item in self._named(ids) if item.value != 0]
        if wrong:
            raise AssertionError(self._told(f"{_names(wrong)}: met", wrong))

    def _named(self, ids: Iterable[str]) -> list[GateResult | CriterionResult]:
        __tracebackhide__ = True
        items = {item.id: item for item in self._items()}
        unknown = [name for name in ids if name not in items]
        if unknown:
            raise InputError(f"the rubric has no {', '.join(unknown)}; it has {', '.join(items)}")
        return [items[name] for name in ids]

    def _items(self) -> Iterator[GateResult | CriterionResult]:
        yield from self.grade.gates
        yield from _with_parts(self.grade.criteria)

    def _missed(self) -> list[GateResult | CriterionResult]:
        return [
            item for item in (*self.grade.gates, *self.grade.leaves()) if item.value is not None and not _good(item)
        ]

    def _met(self) -> list[GateResult | CriterionResult]:
        return [item for item in self.grade.leaves() if item.value is not None and _good(item)]

    def _told(self, asked: str, items: Iterable[GateResult | CriterionResult]) -> str:
        text = io.StringIO()
        grade = self.grade
        text.write(f"{one_line(grade.trajectory.id)}: score {self.score:g} ({grade.status}), {asked}\n")
        for item in items:
            text.write(f"\n{one_line(item.id)}: {one_line(item.verdict)}: {one_line(item.description, LENGTH)}\n")
            if reason := item.reasoning or item.message:
                text.write(f"    {one_line(reason, LENGTH)}\n")
            for each in item.evidence:
                found = "" if each.verified == "code" else f" [{each.verified.replace('_', ' ')}]"
                text.write(f'    "{one_line(each.quote, LENGTH)}"{found} {one_line(each.where or "")}\n')
        return text.getvalue().rstrip()


def graded(grade: Grade) -> Graded:
    """A grade that has a score.

    Raises:
        Ungraded: It has none; says why, and what is open.
    """
    __tracebackhide__ = True
    if grade.score is None:
        low, high = grade.bounds
        items = [item for item in (*grade.gates, *grade.leaves()) if item.open and item.cause != "gate_failed"]
        told = "".join(f"\n{one_line(item.id)}: {item.cause}: {one_line(item.message, LENGTH)}" for item in items)
        name = one_line(grade.trajectory.id)
        raise Ungraded(f"{name}: ungraded ({grade.cause}), the score lies in {low:g} to {high:g}{told}")
    return Graded(grade)


def as_expected(trials: Trials) -> None:
    """Ask that every example of a rubric came out as it expects.

    Raises:
        AssertionError: One did not, or not every time.
        Ungraded: None failed, and one could not be decided.
    """
    __tracebackhide__ = True
    wrong = [one for one in trials.tried if one.outcome != "pass"]
    lines = [
        f"{one.where}: {one.criterion or 'the whole rubric'}: expected {one.expected}, found {', '.join(one.found)}, on"
        f" {one_line(one.example)}" + (f"\n    {one_line(one.reason, LENGTH)}" if one.reason else "")
        for one in wrong
    ]
    if any(one.outcome != "open" for one in wrong):
        raise AssertionError("\n".join(lines))
    if wrong:
        raise Ungraded("\n".join(lines))


def _with_parts(criteria: Iterable[CriterionResult]) -> Iterator[CriterionResult]:
    for criterion in criteria:
        yield criterion
        yield from _with_parts(criterion.parts)


def _holds(item: GateResult | CriterionResult) -> bool:
    bar = item.at_least if isinstance(item, GateResult) else 1.0
    return item.value is not None and item.value >= bar - CLOSE


def _good(item: GateResult | CriterionResult) -> bool:
    """Whether a decided item speaks for the agent."""
    costs = isinstance(item, CriterionResult) and (item.veto or (item.points or 0) < 0)
    return item.value == 0 if costs else _holds(item)


def _names(items: Iterable[GateResult | CriterionResult]) -> str:
    return ", ".join(item.id for item in items)
