"""`aplan`: what judging some trajectories will take, without a call to a model. Gates are taken for passed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rubricgrade.checks import Bench, ItemsFault
from rubricgrade.errors import RubricgradeError
from rubricgrade.grading.asked import judged_criteria
from rubricgrade.grading.criteria import items_of
from rubricgrade.grading.given import Location, the_rubric, the_trajectories
from rubricgrade.judge import JudgeOptions, Judging
from rubricgrade.judge.estimating import Estimate, Planned, by_criterion, total
from rubricgrade.rubric import Criterion, Rubric
from rubricgrade.sandbox import Provider, default_provider
from rubricgrade.store.verdicts import VerdictCache
from rubricgrade.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class Plan:
    """What judging will take.

    Attributes:
        trajectories: How many.
        planned: Every criterion, or item of one, of every trajectory.
        faults: What could not be planned, in words, with the trajectory's id.
    """

    trajectories: int
    planned: tuple[Planned, ...]
    faults: tuple[str, ...]

    @property
    def criteria(self) -> dict[str, Estimate]:
        """By criterion, over all trajectories."""
        return by_criterion(self.planned)

    @property
    def total(self) -> Estimate:
        """All of it."""
        return total(each.estimate for each in self.planned)


async def aplan(
    trajectories: Sequence[Trajectory | Location],
    rubric: Rubric | Location,
    *,
    judge: JudgeOptions,
    vars: Mapping[str, Any] | None = None,  # noqa: A002 - the rubric's own word
    provider: Provider | None = None,
) -> Plan:
    """Plan judging. Files are read and items are listed as for a grade; models are not called.

    Args:
        trajectories: As in `agrade_all`.
        rubric: As in `agrade`.
        judge: Options of judging.
        vars: As in `agrade`.
        provider: As in `agrade`.

    Raises:
        InputError: Something given can't be used.
    """
    loaded_rubric = the_rubric(rubric, vars)
    loaded = the_trajectories(trajectories)
    provider = provider or default_provider()
    cache = VerdictCache.of(judge.cache)
    if cache is not None and not cache.path.exists():
        cache = None
    planned: list[Planned] = []
    faults: list[str] = []
    for trajectory in loaded:
        async with Bench(trajectory, loaded_rubric, provider) as bench:
            judging = Judging(trajectory, loaded_rubric, judge, verdicts=cache, documents=bench.documents)
            try:
                planned += await judging.plan(await _asked(loaded_rubric, bench))
            except (RubricgradeError, ItemsFault) as error:
                faults.append(f"{trajectory.id}: {error}")
    return Plan(len(loaded), tuple(planned), tuple(faults))


async def _asked(rubric: Rubric, bench: Bench) -> list[tuple[Criterion, str | None]]:
    asked: list[tuple[Criterion, str | None]] = []
    for leaf in judged_criteria(rubric):
        items = (None,) if leaf.for_each is None else await items_of(leaf, rubric, bench)
        asked += [(leaf, item) for item in items]
    return asked
