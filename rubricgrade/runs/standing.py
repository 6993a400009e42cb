"""How a run stands by its current grades: per task, per category, and overall. Ungraded attempts are in no number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from rubricgrade.result import Grade
from rubricgrade.runs.lines import Line
from rubricgrade.runs.manifest import Manifest, read_manifest
from rubricgrade.runs.opened import Opened, opened
from rubricgrade.runs.places import Place, Where, place_of
from rubricgrade.runs.raising import Raising, raising
from rubricgrade.runs.statistics import interval, mean, pass_all_k, pass_at_k

CLOSE = 1e-9


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt with its current grade.

    Attributes:
        line: As it was first graded.
        grade: The latest grade file; None when there is none any more. Then the attempt is ungraded: a line's reward
            is a number that nothing accounts for, and whoever wrote the line may have made it up.
        place: The attempt's.
        pass_mark: The task's.
    """

    line: Line
    grade: Grade | None
    place: Place
    pass_mark: float

    @property
    def reward(self) -> float | None:
        """The current score; None when ungraded."""
        return None if self.grade is None else self.grade.score

    @property
    def solved(self) -> bool:
        """Whether all gates pass and the score reaches the task's mark; 0 reaches none, however low it is."""
        return self.grade is not None and self.grade.status == "graded" and reaches(self.grade.score, self.pass_mark)


def reaches(reward: float | None, mark: float) -> bool:
    """Whether a reward is enough for a pass mark."""
    return reward is not None and 0 < reward >= mark - CLOSE


class Scored(Protocol):
    """What numbers need of an attempt."""

    @property
    def reward(self) -> float | None:
        """Its score; None when ungraded."""
        ...

    @property
    def solved(self) -> bool:
        """Whether it solved its task."""
        ...


class Standing(BaseModel):
    """How one task, one category or a whole run stands.

    Attributes:
        name: The task, the category, or ``overall``.
        rollouts: Attempts that are graded or gated.
        ungraded: Attempts without a score; in no number below.
        solved: Attempts that solved the task.
        pass_at: pass@k by k; None where there are fewer than k attempts. Over several tasks, the mean.
        pass_all: pass^k likewise.
        reward: Mean reward; over several tasks, the mean of the tasks' means.
        interval: 95 % bootstrap interval of `reward`.
        short: Tasks that have fewer than the largest k attempts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    rollouts: int
    ungraded: int
    solved: int
    pass_at: dict[int, float | None]
    pass_all: dict[int, float | None]
    reward: float | None
    interval: tuple[float, float] | None
    short: tuple[str, ...] = ()


class RunStanding(BaseModel):
    """How a run stands.

    Attributes:
        run: Its name.
        agent: Who acted.
        missing: Attempts that are not there.
        tasks: Each task.
        categories: Each category.
        overall: All of it.
        raising: Checks that raised the same at the same line in several attempts.
        opened: Why attempts have a grade and no score, the most frequent cause first.
        without_grade: Attempts whose line has a reward and that have no grade file; among the ungraded ones.
        pass_marks: Of the tasks that have another one than 1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    agent: str
    missing: int
    tasks: tuple[Standing, ...]
    categories: tuple[Standing, ...]
    overall: Standing
    raising: tuple[Raising, ...] = ()
    opened: tuple[Opened, ...] = ()
    without_grade: int = 0
    pass_marks: dict[str, float] = {}


def attempts_of(where: Where, manifest: Manifest | None = None) -> list[Attempt]:
    """Every attempt of a run that has a line, with its current grade.

    Raises:
        InputError: It is no run.
        StoreError: A line or a grade can't be read.
    """
    place = place_of(where)
    manifest = manifest or read_manifest(place)
    lines = [line for line in place.lines() if line.task in manifest.tasks]
    grades = place.grades([line.home for line in lines])
    return [
        Attempt(line, grade, place.below(line.home), manifest.tasks[line.task].pass_mark)
        for line, grade in zip(lines, grades, strict=True)
    ]


def stand(where: Where, ks: Sequence[int] = ()) -> RunStanding:
    """How a run stands now.

    Args:
        where: The run's place.
        ks: For pass@k and pass^k; default: 1, and the number of attempts per task.
    """
    place = place_of(where)
    manifest = read_manifest(place)
    ks = sorted({*ks}) or sorted({1, manifest.samples})
    found = attempts_of(place, manifest)
    by_task = {name: [one for one in found if one.line.task == name] for name in sorted(manifest.tasks)}
    names = sorted({facts.category for facts in manifest.tasks.values() if facts.category})
    categories = {
        name: {task: by_task[task] for task, facts in manifest.tasks.items() if facts.category == name}
        for name in names
    }
    return RunStanding(
        run=manifest.run,
        agent=manifest.agent,
        missing=manifest.samples * len(manifest.tasks) - len(found),
        tasks=tuple(standing(name, {name: attempts}, ks) for name, attempts in by_task.items()),
        categories=tuple(standing(name, tasks, ks) for name, tasks in categories.items()),
        overall=standing("overall", by_task, ks),
        raising=raising([one.grade for one in found if one.grade is not None]),
        opened=opened((one.line.home, one.grade) for one in found if one.grade is not None),
        without_grade=sum(one.grade is None and one.line.reward is not None for one in found),
        pass_marks={name: facts.pass_mark for name, facts in sorted(manifest.tasks.items()) if facts.pass_mark != 1},
    )


def standing(name: str, tasks: Mapping[str, Sequence[Scored]], ks: Sequence[int]) -> Standing:
    """How some tasks stand together; each counts alike, however many attempts it has."""
    graded = {task: [one for one in attempts if one.reward is not None] for task, attempts in tasks.items()}
    counts = [(len(attempts), sum(one.solved for one in attempts)) for attempts in graded.values() if attempts]
    rewards = [[one.reward for one in attempts if one.reward is not None] for attempts in graded.values()]
    return Standing(
        name=name,
        rollouts=sum(n for n, _ in counts),
        ungraded=sum(len(attempts) for attempts in tasks.values()) - sum(n for n, _ in counts),
        solved=sum(solved for _, solved in counts),
        pass_at={k: _mean_of_all([pass_at_k(n, solved, k) for n, solved in counts]) for k in ks},
        pass_all={k: _mean_of_all([pass_all_k(n, solved, k) for n, solved in counts]) for k in ks},
        reward=mean([value for group in rewards if (value := mean(group)) is not None]),
        interval=interval(rewards),
        short=tuple(task for task, attempts in graded.items() if len(attempts) < max(ks)),
    )


def _mean_of_all(values: list[float | None]) -> float | None:
    """The mean; None as soon as one is not known, since the mean of the others would be about other tasks."""
    known = [value for value in values if value is not None]
    return mean(known) if len(known) == len(values) else None
