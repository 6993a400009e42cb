"""`agrade_all`: many trajectories with one rubric, a bounded number at a time, one judge for all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from rubricgrade.grading.admitting import admitted
from rubricgrade.grading.engine import agrade, keep
from rubricgrade.grading.given import Location, the_rubric, the_trajectories
from rubricgrade.grading.judges import Judges
from rubricgrade.grading.telling import tell_ungraded
from rubricgrade.grading.template import Given, given_template
from rubricgrade.grading.together import together
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.judge.recorded import warn_of_unused
from rubricgrade.result import Grade
from rubricgrade.rubric import Rubric
from rubricgrade.sandbox import Provider, default_provider
from rubricgrade.trajectory import Trajectory

_WAVE = 32
"""Trajectories that begin at once. If hundreds did, each would be rendered before the first is asked about."""

_TURNS = 20
"""Turns of the event loop between two waves; about as many lead to a first call."""

GradeOne = Callable[[Trajectory, Rubric], Awaitable[Grade]]


class Elsewhere(Protocol):
    """Somebody who grades in other processes than this one, such as `runs.executing.ray.RayExecutor`."""

    def grading(self, judges: Judges, *, template: Given, ungated: bool) -> AbstractAsyncContextManager[GradeOne]:
        """What grades one trajectory, for as long as the block runs; the arguments are those of `agrade`.

        A fault of the grader, also one that is lost on the way, is in the grade and not raised.
        """
        ...


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
    executor: Elsewhere | None = None,
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
        on_grade: Called with the place in the list and the grade, as each is done. Who does not look at each is told by
            one warning in the log how many have no score, and why.
        executor: Who grades; default: this process, with `provider`. Only this process writes grades.

    Returns:
        The grades, in the order of the trajectories.

    Raises:
        InputError: Something given can't be used, or somebody can't be asked, as in `agrade`. Nothing was spent.
    """
    if concurrency < 1:
        raise ValueError("concurrency is at least 1")
    loaded_rubric = the_rubric(rubric, vars)
    loaded = the_trajectories(trajectories)
    slots = asyncio.Semaphore(min(_WAVE, concurrency))
    provider = provider or default_provider()
    graders = executor or _Here(provider)
    async with (
        await admitted(Judges.of(judge), loaded_rubric, loaded, provider, here=executor is None) as judges,
        graders.grading(judges, template=template, ungated=ungated) as grade_one,
    ):

        async def one(index: int, trajectory: Trajectory) -> Grade:
            async with slots:
                grade = await grade_one(trajectory, loaded_rubric)
                if store is not None:
                    await keep(grade, trajectory, store(trajectory) if callable(store) else store)
            if on_grade is not None:
                on_grade(index, grade)
            return grade

        opening = asyncio.create_task(_open(slots, min(concurrency, len(loaded))))
        try:
            grades = list(await together(one(index, each) for index, each in enumerate(loaded)))
        finally:
            opening.cancel()
    if on_grade is None:
        tell_ungraded(grades)
    if isinstance(judge, JudgeOptions):
        warn_of_unused(judge.verdicts, [(loaded_rubric, grade) for grade in grades])
    return grades


async def _open(slots: asyncio.Semaphore, concurrency: int) -> None:
    """Open the slots beyond the first wave, so that judges are waited for while the later records are rendered."""
    for opened in range(_WAVE, concurrency, _WAVE):
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        for _ in range(min(_WAVE, concurrency - opened)):
            slots.release()


@dataclass(frozen=True, slots=True)
class _Here:
    """This process, as `Elsewhere` is."""

    provider: Provider

    @asynccontextmanager
    async def grading(self, judges: Judges, *, template: Given, ungated: bool) -> AsyncGenerator[GradeOne]:
        async with given_template(template, self.provider) as given:

            async def grade_one(trajectory: Trajectory, rubric: Rubric) -> Grade:
                return await agrade(
                    trajectory, rubric, judge=judges, provider=self.provider, template=given, ungated=ungated
                )

            yield grade_one
