"""Grading a run again from what its episodes left: no agent is run, and a judge is asked only what has changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rubricgrade.episode.site import template_hash
from rubricgrade.episode.task import Task
from rubricgrade.errors import Fault, InputError
from rubricgrade.grading.admitting import all_answered
from rubricgrade.grading.asked import check_judge
from rubricgrade.grading.planning import Plan, aplan
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.judge.recorded import check_recorded
from rubricgrade.readers import load_trajectory
from rubricgrade.result import Grade
from rubricgrade.rubric import Rubric
from rubricgrade.runs.executing import Executor, Local, Terms
from rubricgrade.runs.manifest import Manifest, read_manifest
from rubricgrade.runs.places import Place, Where, place_of
from rubricgrade.runs.standing import Attempt, attempts_of
from rubricgrade.sandbox import Provider, default_provider


@dataclass(frozen=True, slots=True)
class Regraded:
    """An attempt with the grade that it had and the one that it has now."""

    attempt: Attempt
    grade: Grade

    @property
    def changed(self) -> bool:
        """Whether the score is another one."""
        return self.attempt.reward != self.grade.score


def tasks_of(manifest: Manifest, only: frozenset[str] = frozenset()) -> dict[str, Task]:
    """The tasks of a run, from where they lay when it began.

    Args:
        manifest: The run's.
        only: Ids; empty: all.

    Raises:
        InputError: One is unknown or gone, is another one, or its environment is another one than the episodes ran in.
    """
    if unknown := sorted(only - manifest.tasks.keys()):
        raise InputError(f"this run has no task {', '.join(unknown)}; it has {', '.join(sorted(manifest.tasks))}")
    tasks: dict[str, Task] = {}
    faults: list[Fault] = []
    for name, facts in manifest.tasks.items():
        if only and name not in only:
            continue
        try:
            task = Task.load(facts.path)
        except InputError as error:
            faults += error.faults
            continue
        if task.id != name:
            faults.append(Fault(f"is not the task {name} of this run", facts.path))
        if template_hash(task, network=manifest.network) != facts.template:
            faults.append(
                Fault("its environment has changed since the run: what was left in it can't be graded", facts.path)
            )
        tasks[name] = task
    if faults:
        raise InputError(faults)
    return tasks


async def regrade(
    where: Where,
    *,
    rubric: Rubric | None = None,
    only: frozenset[str] = frozenset(),
    judge: JudgeOptions | None = None,
    concurrency: int = 4,
    store: bool = True,
    provider: Provider | None = None,
    executor: Executor | None = None,
) -> AsyncGenerator[Regraded]:
    """Grade every attempt of a run again; yields each as it is done. Lines keep the first grade.

    Args:
        where: The run's place.
        rubric: Another rubric for all of them; default: each task's own, as it is now.
        only: Ids of the tasks to grade; empty: all.
        judge: As in `agrade`.
        concurrency: Attempts at a time.
        store: Whether the grades are written, to become the current ones.
        provider: Where sandboxes come from.
        executor: Who grades; default: this process, with `provider`. Only this process writes grades.

    Raises:
        InputError: It is no run, or a task of it can't be used any more; or a model that may be asked can't be, and
            not every answer is recorded or cached. No grade was written.
    """
    place = place_of(where)
    manifest = read_manifest(place)
    tasks = tasks_of(manifest, only)
    attempts = [one for one in attempts_of(place, manifest) if not only or one.line.task in only]
    slots = asyncio.Semaphore(concurrency)
    graded_with = {name: rubric or task.rubric for name, task in tasks.items()}
    here = executor is None or isinstance(executor, Local)
    options = await _admitted(judge or JudgeOptions(), graded_with, attempts, provider or default_provider(), here=here)
    terms = Terms(options, network=manifest.network)
    async with (executor or Local(provider)).workers(terms) as workers:

        async def again(attempt: Attempt) -> Regraded:
            task = tasks[attempt.line.task]
            async with slots, _at_hand(attempt.place) as folder:
                grade = await workers.grade(load_trajectory(folder), graded_with[attempt.line.task], task)
            if store:
                await asyncio.to_thread(attempt.place.write_grade, grade)
            return Regraded(attempt, grade)

        work = [asyncio.create_task(again(attempt)) for attempt in attempts]
        try:
            for done in asyncio.as_completed(work):
                yield await done
        finally:
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)


async def plan_again(
    where: Where,
    *,
    rubric: Rubric | None = None,
    only: frozenset[str] = frozenset(),
    judge: JudgeOptions | None = None,
    provider: Provider | None = None,
) -> Plan:
    """What judging would take in `regrade`, whose arguments these are. Asks no model and writes nothing.

    Raises:
        InputError: It is no run, or a task of it can't be used any more.
    """
    place = place_of(where)
    manifest = read_manifest(place)
    tasks = tasks_of(manifest, only)
    plans: list[Plan] = []
    for attempt in attempts_of(place, manifest):
        if attempt.line.task in tasks:
            graded_with = rubric or tasks[attempt.line.task].rubric
            async with _at_hand(attempt.place) as folder:
                found = [load_trajectory(folder)]
                plans.append(await aplan(found, graded_with, judge=judge or JudgeOptions(), provider=provider))
    return Plan(
        len(plans),
        tuple(planned for plan in plans for planned in plan.planned),
        tuple(fault for plan in plans for fault in plan.faults),
    )


async def _admitted(
    options: JudgeOptions, rubrics: Mapping[str, Rubric], attempts: Sequence[Attempt], provider: Provider, *, here: bool
) -> JudgeOptions:
    """The judge's settings, once it is clear that it can be asked, or need not be; see `grading.admitting`."""
    check_recorded(options.verdicts, list(rubrics.values()))
    try:
        await asyncio.to_thread(check_judge, options, list(rubrics.values()), here=here)
    except InputError:
        for attempt in attempts:
            async with _at_hand(attempt.place) as folder:
                found = [load_trajectory(folder)]
                if not await all_answered(options, rubrics[attempt.line.task], found, provider):
                    raise
        return replace(options, offline=True)
    return options


@asynccontextmanager
async def _at_hand(attempt: Place) -> AsyncGenerator[Path]:
    """An attempt's files on this machine, without holding up the others while they are fetched."""
    fetching = attempt.episode()
    folder = await asyncio.to_thread(fetching.__enter__)
    try:
        yield folder
    finally:
        await asyncio.to_thread(fetching.__exit__, None, None, None)
