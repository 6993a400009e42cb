"""What a rubric's examples ask for: one trial for each, grouped by the episode that it is tried on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rubricgrade.errors import Fault, InputError
from rubricgrade.loading.document import Document, Place
from rubricgrade.readers import load_trajectory
from rubricgrade.result import Grade
from rubricgrade.rubric import Criterion, Example, Rubric, Scored
from rubricgrade.rubric.rules import Placed, placed
from rubricgrade.trajectory import Step, Text, Trajectory

CLOSE = 1e-9
NARRATED = (
    "No task: this is an example that a rubric's author wrote. The agent's message is what the agent wrote, or tells in"
    " a few words what it did."
)
"""Stands for the task where an example is only a text, so that a judge knows what to make of it."""

TEXT_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Trial:
    """One thing that must hold.

    Attributes:
        criterion: What is tried; None for the rubric as a whole.
        example: The episode's path, or the beginning of the example's text.
        expected: A verdict, or the lowest and highest score.
        why: The author's reason.
        place: Where the example stands in the rubric; empty for one that is always tried.
    """

    criterion: str | None
    example: str
    expected: str | tuple[float, float]
    why: str = ""
    place: Place = ()

    @property
    def wanted(self) -> str:
        """What must come out, in words."""
        if isinstance(self.expected, str):
            return self.expected
        low, high = self.expected
        if low == high:
            return f"score {low:g}"
        return f"score of at least {low:g}" if high == 1 else f"score {low:g} to {high:g}"

    def holds(self, grade: Grade) -> bool | None:
        """Whether a grade is as expected; None while that is open."""
        if self.criterion is None:
            return self._score_holds(grade)
        item = next(item for item in grade.criteria if item.id == self.criterion)
        # A judge that can't tell has answered; a grader that failed has not, whatever it calls the verdict.
        if item.open and item.cause != "cannot_tell":
            return None
        return item.verdict == self.expected

    def found(self, grade: Grade) -> str:
        """What came out, in words."""
        if self.criterion is not None:
            item = next(item for item in grade.criteria if item.id == self.criterion)
            return item.verdict if item.cause in (None, "cannot_tell") else f"open ({item.cause})"
        if grade.score is not None:
            return f"score {grade.score:g}"
        return f"open ({grade.cause}), score {grade.bounds[0]:g} to {grade.bounds[1]:g}"

    def reason(self, grade: Grade) -> str:
        """Why it came out so: what kept it open, the judge's reasoning, or what keeps the score from its bounds."""
        if self.criterion is not None:
            item = next(item for item in grade.criteria if item.id == self.criterion)
            return (item.message or item.reasoning) if item.open else (item.reasoning or item.message)
        blocking = [item for item in (*grade.gates, *grade.leaves()) if item.value is None or 0 < item.value < 1]
        blocking += [item for item in (*grade.gates, *grade.leaves()) if item.value in (0, 1)]
        return "; ".join(f"{item.id}: {item.verdict}" for item in blocking)

    def _score_holds(self, grade: Grade) -> bool | None:
        assert not isinstance(self.expected, str)  # noqa: S101 - only criteria are told verdicts
        low, high = self.expected
        least, most = grade.bounds
        if least >= low - CLOSE and most <= high + CLOSE:
            return True
        return None if grade.score is None and most >= low - CLOSE and least <= high + CLOSE else False


@dataclass(frozen=True, slots=True)
class Subject:
    """An episode and everything that is tried on it, by one grade with one rubric."""

    trajectory: Trajectory
    rubric: Rubric
    trials: tuple[Trial, ...]


def subjects(rubric: Rubric, folder: Path, *, only: str | None = None) -> list[Subject]:
    """Everything that the examples of a rubric ask for, in the order of the file.

    Args:
        rubric: With its sealed files.
        folder: What paths of trajectories are relative to.
        only: The id of the one criterion to try; None for all, and the rubric as a whole.

    Raises:
        InputError: A trajectory can't be read, or no criterion is called `only`.
    """
    criteria = [one for one in placed(rubric) if only in (None, one.criterion.id)]
    if only is not None and not criteria:
        known = ", ".join(one.criterion.id for one in placed(rubric))
        raise InputError(Fault(f"no criterion is called {only!r}; there are {known or 'none'}"))
    by_source: dict[tuple[str, str], list[tuple[Placed, Trial]]] = {}
    for one, trial, example in _of_criteria(criteria):
        source = ("path", example.trajectory) if example.trajectory is not None else ("text", example.text or "")
        by_source.setdefault(source, []).append((one, trial))
    found = [
        Subject(
            narrated(source) if kind == "text" else load_trajectory(folder / source),
            alone(rubric, (one for one, _ in tried)),
            tuple(trial for _, trial in tried),
        )
        for (kind, source), tried in by_source.items()
    ]
    whole = rubric.examples if only is None else ()
    return found + [
        Subject(load_trajectory(folder / example.trajectory), rubric, (_of_whole(example, index),))
        for index, example in enumerate(whole)
    ]


def narrated(text: str) -> Trajectory:
    """An episode that has nothing but a text: what the agent wrote, or a telling of what it did."""
    return Trajectory(id="example", task=NARRATED, steps=(Step(role="assistant", content=(Text(text=text),)),))


def alone(rubric: Rubric, criteria: Iterable[Placed]) -> Rubric:
    """The same rubric with just these criteria, each for itself: no gates, conditions, needs or groups around them."""
    unique = {one.criterion.id: _bare(one) for one in criteria}
    return rubric.model_copy(update={"gates": (), "criteria": tuple(unique.values())}).with_sealed(rubric.sealed)


def spot(trial: Trial, document: Document) -> str:
    """``file:line:column`` of the example; the file alone for what stands nowhere."""
    fault = document.fault(trial.place, "", "")
    return ":".join(str(part) for part in (fault.file, fault.line, fault.column) if part) if trial.place else fault.file


def _bare(one: Placed) -> Criterion:
    # The sign stays: an agent's fault counts as the worst value, which is 1 for a penalty.
    changes = {"points": math.copysign(1.0, one.sign), "veto": False, "when": None, "needs": ()}
    return one.criterion.model_copy(update=changes)


def _of_criteria(criteria: Iterable[Placed]) -> Iterator[tuple[Placed, Trial, Example]]:
    for one in criteria:
        for index, example in enumerate(one.criterion.examples):
            if not example.show:
                name = example.trajectory or _beginning(example.text or "")
                place = (*one.place, "examples", index)
                yield one, Trial(one.criterion.id, name, example.expect, example.why or "", place), example


def _of_whole(example: Scored, index: int) -> Trial:
    low, high = example.at_least, example.at_most
    expected = (0.0 if low is None else low, 1.0 if high is None else high)
    return Trial(None, example.trajectory, expected, example.why or "", ("examples", index))


def _beginning(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= TEXT_LENGTH else flat[: TEXT_LENGTH - 3].rstrip() + "..."
