"""Uplift: what training changed, measured on the same tasks before and after, with an interval over tasks."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rubricgrade.errors import Fault, InputError
from rubricgrade.runs.manifest import read_manifest
from rubricgrade.runs.places import Where
from rubricgrade.runs.standing import Attempt, attempts_of
from rubricgrade.runs.statistics import DRAWS, LEVEL, mean

ENOUGH = 10
"""Tasks from which on a bootstrap over tasks says anything: of fewer there are too few different draws."""

Verdict = Literal["better", "worse", "no difference seen", "too few tasks"]


class Difference(BaseModel):
    """What changed for some tasks.

    Attributes:
        name: The category, or ``overall``.
        tasks: Compared: with a graded attempt in both runs.
        before: Mean over tasks of the mean reward before.
        after: And after.
        difference: `after` less `before`.
        interval: 95 % of it, by a bootstrap over tasks that keeps each task's two rewards together.
        solved: The same difference in the solved rate.
        verdict: What that says. Never better or worse with fewer than `ENOUGH` tasks.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    tasks: int
    before: float | None
    after: float | None
    difference: float | None
    interval: tuple[float, float] | None
    solved: float | None
    verdict: Verdict


class Uplift(BaseModel):
    """Two runs compared.

    Attributes:
        before: The first run's name.
        after: The second's.
        rows: By category, then overall.
        missing: Tasks that were asked for, or are in one run only, and have no graded attempt in both.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)

    schema_: Literal["rubricgrade.uplift/1"] = Field(default="rubricgrade.uplift/1", alias="schema")
    before: str
    after: str
    rows: tuple[Difference, ...]
    missing: tuple[str, ...] = ()


def uplift(before: Where, after: Where, tasks: Collection[str] | None = None) -> Uplift:
    """Compare two runs task by task.

    Args:
        before: A run's place.
        after: Another one's.
        tasks: Only these; default: all of either run.

    Raises:
        InputError: One is no run, or a task is not the same in both.
        StoreError: A record can't be read.
    """
    manifests = read_manifest(before), read_manifest(after)
    facts = [manifest.tasks for manifest in manifests]
    changed = sorted(name for name in facts[0].keys() & facts[1].keys() if facts[0][name].hash != facts[1][name].hash)
    wanted = {*(facts[0].keys() | facts[1].keys() if tasks is None else tasks)}
    if faults := [
        Fault(f"task {name} is another one in {after}: only like can be compared", str(before))
        for name in changed
        if name in wanted
    ]:
        raise InputError(faults)
    one, two = (_by_task(attempts_of(folder)) for folder in (before, after))
    both = sorted(wanted & one.keys() & two.keys())
    categories = sorted({facts[0][name].category for name in both} - {""})
    rows = [_row(each, [name for name in both if facts[0][name].category == each], one, two) for each in categories]
    rows.append(_row("overall", both, one, two))
    return Uplift(
        before=manifests[0].run,
        after=manifests[1].run,
        rows=tuple(rows),
        missing=tuple(sorted(wanted - {*both})),
    )


def paired_interval(differences: Sequence[float], *, draws: int = DRAWS) -> tuple[float, float] | None:
    """A 95 % percentile bootstrap interval of the mean of differences; None of fewer than two. Repeatable."""
    if len(differences) < 2:  # noqa: PLR2004 - one value says nothing about its spread
        return None
    draw = random.Random(0)  # noqa: S311 - a fixed seed makes a report repeatable
    size = len(differences)
    means = sorted(math.fsum(draw.choices(differences, k=size)) / size for _ in range(draws))
    tail = (1 - LEVEL) / 2
    return means[int(tail * draws)], means[min(draws - 1, math.ceil((1 - tail) * draws))]


def _by_task(attempts: Sequence[Attempt]) -> dict[str, list[Attempt]]:
    found: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        if attempt.reward is not None:
            found.setdefault(attempt.line.task, []).append(attempt)
    return found


def _row(
    name: str, tasks: Sequence[str], one: Mapping[str, list[Attempt]], two: Mapping[str, list[Attempt]]
) -> Difference:
    rewards = [(_reward(one[task]), _reward(two[task])) for task in tasks]
    solved = [_solved(two[task]) - _solved(one[task]) for task in tasks]
    differences = [after - before for before, after in rewards]
    interval = paired_interval(differences)
    return Difference(
        name=name,
        tasks=len(tasks),
        before=mean([before for before, _ in rewards]),
        after=mean([after for _, after in rewards]),
        difference=mean(differences),
        interval=interval,
        solved=mean(solved),
        verdict=_verdict(len(tasks), interval),
    )


def _reward(attempts: Sequence[Attempt]) -> float:
    return math.fsum(reward for one in attempts if (reward := one.reward) is not None) / len(attempts)


def _solved(attempts: Sequence[Attempt]) -> float:
    return sum(one.solved for one in attempts) / len(attempts)


def _verdict(tasks: int, interval: tuple[float, float] | None) -> Verdict:
    if tasks < ENOUGH or interval is None:
        return "too few tasks"
    return "better" if interval[0] > 0 else "worse" if interval[1] < 0 else "no difference seen"
