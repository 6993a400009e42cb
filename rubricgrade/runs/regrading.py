"""Grading a run again from what its episodes left: no agent is run, and a judge is asked only what has changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from rubricgrade.episode.site import template_hash
from rubricgrade.episode.task import Task
from rubricgrade.errors import Fault, InputError
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.readers import load_trajectory
from rubricgrade.result import Grade
from rubricgrade.rubric import Rubric
from rubricgrade.runs.executing import Executor, Local, Terms
from rubricgrade.runs.manifest import Manifest, read_manifest
from rubricgrade.runs.places import Place, Where, place_of
from rubricgrade.runs.standing import Attempt, attempts_of
from rubricgrade.sandbox import Provider


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
        InputError: One is gone, or its environment is another one than the episodes ran in.
    """
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
        InputError: It is no run, or a task of it can't be used any more.
    """
    place = place_of(where)
    manifest = read_manifest(place)
    if unknown := sorted(only - manifest.tasks.keys()):
        raise InputError(f"this run has no task {', '.join(unknown)}")
    tasks = tasks_of(manifest, only)
    attempts = [one for one in attempts_of(place, manifest) if not only or one.line.task in only]
    slots = asyncio.Semaphore(concurrency)
    terms = Terms(judge or JudgeOptions(), network=manifest.network)
    async with (executor or Local(provider)).workers(terms) as workers:

        async def again(attempt: Attempt) -> Regraded:
            task = tasks[attempt.line.task]
            async with slots, _at_hand(attempt.place) as folder:
                grade = await workers.grade(load_trajectory(folder), rubric or task.rubric, task)
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


@asynccontextmanager
async def _at_hand(attempt: Place) -> AsyncGenerator[Path]:
    """An attempt's files on this machine, without holding up the others while they are fetched."""
    fetching = attempt.episode()
    folder = await asyncio.to_thread(fetching.__enter__)
    try:
        yield folder
    finally:
        await asyncio.to_thread(fetching.__exit__, None, None, None)
