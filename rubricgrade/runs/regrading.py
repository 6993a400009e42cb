"""Grading a run again from what its episodes left: no agent is run, and a judge is asked only what has changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from rubricgrade.episode.environment import prepared, template_hash
from rubricgrade.episode.task import Task
from rubricgrade.errors import Fault, InputError
from rubricgrade.grading import agrade
from rubricgrade.grading.judges import Judges
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.readers import load_trajectory
from rubricgrade.result import Grade
from rubricgrade.rubric import Rubric
from rubricgrade.runs.manifest import Manifest, read_manifest
from rubricgrade.runs.standing import Attempt, attempts_of
from rubricgrade.sandbox import Provider, Template, default_provider


@dataclass(frozen=True, slots=True)
class Regraded:
    """An attempt with the grade that it had and the one that it has now."""

    attempt: Attempt
    grade: Grade

    @property
    def changed(self) -> bool:
        """Whether the score is another one."""
        return self.attempt.reward != self.grade.score


def tasks_of(manifest: Manifest) -> dict[str, Task]:
    """The tasks of a run, from where they lay when it began.

    Raises:
        InputError: One is gone, or its environment is another one than the episodes ran in.
    """
    tasks: dict[str, Task] = {}
    faults: list[Fault] = []
    for name, facts in manifest.tasks.items():
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
    folder: Path,
    *,
    rubric: Rubric | None = None,
    only: frozenset[str] = frozenset(),
    judge: JudgeOptions | None = None,
    concurrency: int = 4,
    store: bool = True,
    provider: Provider | None = None,
) -> AsyncGenerator[Regraded]:
    """Grade every attempt of a run again; yields each as it is done. Lines keep the first grade.

    Args:
        folder: The run's.
        rubric: Another rubric for all of them; default: each task's own, as it is now.
        only: Ids of the tasks to grade; empty: all.
        judge: As in `agrade`.
        concurrency: Attempts at a time.
        store: Whether the grades are written, to become the current ones.
        provider: Where sandboxes come from.

    Raises:
        InputError: It is no run, or a task of it can't be used any more.
    """
    manifest = read_manifest(folder)
    if unknown := sorted(only - manifest.tasks.keys()):
        raise InputError(f"this run has no task {', '.join(unknown)}")
    tasks = tasks_of(manifest)
    provider = provider or default_provider()
    attempts = [one for one in attempts_of(folder, manifest) if not only or one.line.task in only]
    slots = asyncio.Semaphore(concurrency)
    async with AsyncExitStack() as held:
        judges = await held.enter_async_context(Judges(judge or JudgeOptions()))
        templates: Mapping[str, Template] = {
            name: await held.enter_async_context(prepared(tasks[name], provider, network=manifest.network))
            for name in sorted({one.line.task for one in attempts})
        }

        async def again(attempt: Attempt) -> Regraded:
            name = attempt.line.task
            async with slots:
                grade = await agrade(
                    load_trajectory(attempt.folder),
                    rubric or tasks[name].rubric,
                    judge=judges,
                    provider=provider,
                    template=templates[name],
                    store=attempt.folder if store else None,
                )
            return Regraded(attempt, grade)

        work = [asyncio.create_task(again(attempt)) for attempt in attempts]
        try:
            for done in asyncio.as_completed(work):
                yield await done
        finally:
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)
