"""`agrade_all`: many trajectories with one rubric, a bounded number at a time, one judge for all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from rubricgrade.grading.engine import Location, agrade
from rubricgrade.grading.judges import Judges
from rubricgrade.grading.template import Given, given_template
from rubricgrade.grading.together import together
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.loading import load_rubric
from rubricgrade.readers import load_trajectory
from rubricgrade.result import Grade
from rubricgrade.rubric import Rubric
from rubricgrade.sandbox import Provider, default_provider
from rubricgrade.trajectory import Trajectory


async def agrade_all(
    trajectories: Sequence[Trajectory | Location],
    rubric: Rubric | Location,
    *,
    judge: str | JudgeOptions | Judges | None = None,
    vars: Mapping[str, Any] | None = None,  # noqa: A002 - the rubric's own word
    provider: Provider | None = None,
    template: Given = None,
    store: Callable[[Trajectory], Location | Literal[True]] | Location | Literal[True] | None = None,
    ungated: bool = False,
    concurrency: int = 8,
    on_grade: Callable[[int, Grade], None] | None = None,
) -> list[Grade]:
    """Grade many trajectories: arguments as in `agrade`, and a few more.

    Args:
        trajectories: All are loaded before the first is graded.
        rubric: One rubric for all.
        judge: As in `agrade`; one client, one cache and one budget for all of them.
        vars: As in `agrade`.
        provider: As in `agrade`.
        template: As in `agrade`.
        store: As in `agrade`; also a function that names each trajectory's own folder.
        ungated: As in `agrade`.
        concurrency: Trajectories in work at a time. Calls to a judge have their own limit, in its options.
        on_grade: Called with the place in the list and the grade, as each is done.

    Returns:
        The grades, in the order of the trajectories.

    Raises:
        InputError: Something given can't be used; nothing was spent.
    """
    if concurrency < 1:
        raise ValueError("concurrency is at least 1")
    loaded_rubric = rubric if isinstance(rubric, Rubric) else load_rubric(rubric, vars=vars)
    loaded = [each if isinstance(each, Trajectory) else load_trajectory(Path(each)) for each in trajectories]
    provider = provider or default_provider()
    slots = asyncio.Semaphore(concurrency)

    async with Judges.of(judge) as judges, given_template(template, provider) as given:

        async def one(index: int, trajectory: Trajectory) -> Grade:
            async with slots:
                grade = await agrade(
                    trajectory,
                    loaded_rubric,
                    judge=judges,
                    provider=provider,
                    template=given,
                    store=store(trajectory) if callable(store) else store,
                    ungated=ungated,
                )
            if on_grade is not None:
                on_grade(index, grade)
            return grade

        return list(await together(one(index, each) for index, each in enumerate(loaded)))
