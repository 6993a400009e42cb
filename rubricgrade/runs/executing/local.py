"""The executor of this process: one provider of sandboxes, one judge, each task's template prepared once."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rubricgrade.episode.environment import graded_in, prepared
from rubricgrade.episode.playing import Episode, run_episode
from rubricgrade.episode.task import Task
from rubricgrade.errors import InputError
from rubricgrade.grading import agrade
from rubricgrade.grading.judges import Judges
from rubricgrade.grading.template import given_template
from rubricgrade.result import Grade
from rubricgrade.rubric import Rubric
from rubricgrade.runs.executing.contract import Terms
from rubricgrade.sandbox import Provider, Template, default_provider
from rubricgrade.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class Local:
    """See `contract.Executor`.

    Attributes:
        provider: Where sandboxes come from; None for the best that this host has.
    """

    provider: Provider | None = None

    @asynccontextmanager
    async def workers(self, terms: Terms) -> AsyncGenerator[Here]:
        """See `contract.Executor.workers`."""
        async with Judges(terms.judge) as judges, here(terms, judges, self.provider) as workers:
            yield workers


@asynccontextmanager
async def here(terms: Terms, judges: Judges, provider: Provider | None = None) -> AsyncGenerator[Here]:
    """Workers of this process with a judge that is open already."""
    provider = provider or default_provider()
    async with AsyncExitStack() as held:
        given = await held.enter_async_context(given_template(terms.template, provider))
        yield Here(terms, judges, provider, given, held)


@dataclass(frozen=True, slots=True)
class Here:
    """See `contract.Workers`. Made by `here`."""

    terms: Terms
    judges: Judges
    provider: Provider
    given: Template | None
    held: AsyncExitStack
    _templates: dict[str, Template] = field(default_factory=dict[str, Template])
    _preparing: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def play(self, task: Task, sample: int, folder: Path, *, blame: bool) -> Episode:
        """See `contract.Workers.play`."""
        if self.terms.agent is None:
            raise InputError("nobody acts under these terms")
        return await run_episode(
            task,
            self.terms.agent,
            sample=sample,
            folder=folder,
            limits=self.terms.limits,
            judge=self.judges,
            provider=self.provider,
            template=await self._template(task),
            label=self.terms.label,
            blame=blame,
        )

    async def grade(self, trajectory: Trajectory, rubric: Rubric, task: Task | None = None) -> Grade:
        """See `contract.Workers.grade`."""
        async with AsyncExitStack() as held:
            template = self.given
            if task is not None:
                own = await self._template(task)
                template = await held.enter_async_context(graded_in(task, own, self.provider))
            return await agrade(
                trajectory,
                rubric,
                judge=self.judges,
                provider=self.provider,
                template=template,
                ungated=self.terms.ungated,
            )

    async def _template(self, task: Task) -> Template:
        """A task's template: made once, kept until the last fork is closed."""
        async with self._preparing[task.id]:
            if task.id not in self._templates:
                making = prepared(task, self.provider, network=self.terms.network)
                self._templates[task.id] = await self.held.enter_async_context(making)
            return self._templates[task.id]
