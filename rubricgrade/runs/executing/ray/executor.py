"""The executor of a Ray cluster, on the caller's side: sends work out, takes results in, alone writes the record."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from rubricgrade.chat.sharing import Purpose
from rubricgrade.episode.agents.choosing import ModelOptions
from rubricgrade.episode.agents.tool_loop import ToolLoop
from rubricgrade.episode.playing import Episode
from rubricgrade.episode.stage import Agent
from rubricgrade.episode.task import Task
from rubricgrade.errors import Fault, InputError, MissingExtraError, SandboxError, StoreError
from rubricgrade.grading.judges import Judges
from rubricgrade.grading.template import Given
from rubricgrade.grading.unreached import unreached
from rubricgrade.result import Grade
from rubricgrade.rubric import Rubric
from rubricgrade.runs.executing.contract import Terms
from rubricgrade.runs.executing.ray.crew import AT_ONCE, Crew
from rubricgrade.runs.executing.ray.ledger import Ledger
from rubricgrade.runs.executing.ray.node import Named, Node, Orders
from rubricgrade.runs.executing.ray.parcels import (
    Graded,
    Played,
    RubricParcel,
    TaskParcel,
    TrajectoryParcel,
    packed,
)
from rubricgrade.sandbox import Template
from rubricgrade.store.grades import write_grade
from rubricgrade.store.recorded import Verdict
from rubricgrade.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class RayExecutor:
    """See `contract.Executor`.

    Attributes:
        address: Of the cluster; None for that of ``RAY_ADDRESS``, one that runs on this machine, or a new one here. A
            program that is connected to a cluster already keeps it.
        model: How the agent's model is called, for agents that have one.
    """

    address: str | None = None
    model: ModelOptions | None = None

    @asynccontextmanager
    async def workers(self, terms: Terms) -> AsyncGenerator[RayWorkers]:
        """See `contract.Executor.workers`.

        Raises:
            InputError: The cluster can't be reached, or something can't travel to it.
            MissingExtraError: Ray is not installed.
            SandboxUnavailable: No node can work.
        """
        orders = self._orders(terms)
        caps: dict[Purpose, float | None] = {
            "judge": terms.judge.max_cost,
            "agent": orders.agent.options.max_cost if isinstance(orders.agent, Named) else None,
        }
        with_ray = _ray()
        connected = _connect(with_ray, self.address)
        try:
            ledger = _pinned(with_ray, Ledger, with_ray.get_runtime_context().get_node_id()).remote(caps)
            shared = with_ray.put(orders)
            crew = Crew(with_ray, lambda node: _pinned(with_ray, Node, node).remote(node, ledger, shared), ledger)
            try:
                await crew.gather()
                yield RayWorkers(with_ray, crew)
            finally:
                await crew.disband()
                with_ray.kill(ledger)
        finally:
            if connected:
                with_ray.shutdown()

    @asynccontextmanager
    async def grading(
        self, judges: Judges, *, template: Given, ungated: bool
    ) -> AsyncGenerator[Callable[[Trajectory, Rubric], Awaitable[Grade]]]:
        """See `grading.many.Elsewhere`."""
        async with self.workers(Terms(judges.options, template=template, ungated=ungated)) as workers:

            async def grade_one(trajectory: Trajectory, rubric: Rubric) -> Grade:
                try:
                    return await workers.grade(trajectory, rubric)
                except SandboxError as lost:
                    subject = judges.subject(rubric)
                    return unreached(rubric, trajectory, subject, cause="sandbox_lost", message=str(lost))

            try:
                yield grade_one
            finally:
                judges.unanswered.update(workers.unanswered)

    def _orders(self, terms: Terms) -> Orders:
        judge = terms.judge
        template, folder = terms.template, dict[str, bytes]()
        if isinstance(template, Template):
            raise InputError(
                "a template that is open on this machine can't travel: name it, or give its folder or hash"
            )
        if template is not None and Path(template).is_dir():
            folder, template = {Path(template).resolve().name: packed(Path(template))}, None
        return Orders(
            replace(terms, agent=None, judge=replace(judge, max_cost=None, verdicts=()), template=template),
            self._agent(terms.agent),
            tuple(_content(file) for file in judge.verdicts),
            folder,
        )

    def _agent(self, agent: Agent | None) -> Agent | Named | None:
        if not isinstance(agent, ToolLoop):
            return agent
        options = replace(self.model or ModelOptions(), temperature=agent.temperature, max_tokens=agent.max_tokens)
        return Named(f"litellm:{agent.model}", options)


@dataclass(frozen=True, slots=True)
class RayWorkers:
    """See `contract.Workers`.

    Attributes:
        unanswered: As in `Judges`.
    """

    ray: Any
    crew: Crew
    unanswered: dict[str, Verdict] = field(default_factory=dict[str, Verdict])
    _goods: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])

    async def play(self, task: Task, sample: int, folder: Path, *, blame: bool) -> Episode:
        """See `contract.Workers.play`."""
        goods = await self._shipped(task.hash, partial(TaskParcel.of, task))
        played: Played = await self.crew.call("play", goods, sample, blame=blame)
        grade = Grade.model_validate_json(played.grade)
        trajectory = await asyncio.to_thread(played.trajectory.open, folder)
        await asyncio.to_thread(write_grade, grade, folder)
        return Episode(trajectory, grade, played.end, played.timing)

    async def grade(self, trajectory: Trajectory, rubric: Rubric, task: Task | None = None) -> Grade:
        """See `contract.Workers.grade`."""
        graded: Graded = await self.crew.call(
            "grade",
            await asyncio.to_thread(TrajectoryParcel.of, trajectory),
            await self._shipped(rubric.hash, partial(RubricParcel.of, rubric)),
            None if task is None else await self._shipped(task.hash, partial(TaskParcel.of, task)),
        )
        for text in graded.unanswered:
            verdict = Verdict.model_validate_json(text)
            self.unanswered[verdict.question] = verdict
        return Grade.model_validate_json(graded.grade)

    async def _shipped(self, key: str, pack: Callable[[], TaskParcel | RubricParcel]) -> list[Any]:
        """The reference of something that all nodes may fetch, in a list so that no call fetches it by itself."""
        if key not in self._goods:
            parcel = await asyncio.to_thread(pack)
            self._goods.setdefault(key, [self.ray.put(parcel)])
        return self._goods[key]


def _ray() -> Any:
    # It reports its use over the network unless it is told not to.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        return import_module("ray")
    except ModuleNotFoundError as error:
        raise MissingExtraError("Work on a Ray cluster", "ray") from error


def _connect(ray: Any, address: str | None) -> bool:
    """Connect to a cluster; whether it was us who did."""
    if ray.is_initialized():
        return False
    try:
        ray.init(address=address, log_to_driver=False, logging_level="warning")
    except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        raise InputError(Fault(f"the Ray cluster can't be reached: {error}", address or "")) from error
    return True


def _pinned(ray: Any, kind: type[Any], node: str) -> Any:
    """An actor class for one node. It asks for no CPU: what it starts is limited by the caller, not by Ray."""
    strategies = import_module("ray.util.scheduling_strategies")
    return ray.remote(kind).options(
        num_cpus=0,
        max_restarts=0,
        max_concurrency=AT_ONCE,
        scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(node, soft=False),
    )


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise StoreError(f"can't read {file}: {error.strerror or error}") from error
