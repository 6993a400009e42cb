"""What runs on each node, as one actor: our own code, with one provider of sandboxes and one judge for all its work."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from rubricgrade.episode.agents.choosing import ModelOptions, choose_agent
from rubricgrade.episode.agents.tool_loop import ToolLoop
from rubricgrade.episode.stage import Agent
from rubricgrade.episode.task import Task
from rubricgrade.errors import RubricgradeError
from rubricgrade.grading.judges import Judges
from rubricgrade.rubric import Rubric
from rubricgrade.runs.executing.contract import Terms
from rubricgrade.runs.executing.local import Here, here
from rubricgrade.runs.executing.ray.ledger import Teller
from rubricgrade.runs.executing.ray.parcels import (
    Graded,
    Played,
    RubricParcel,
    TaskParcel,
    TrajectoryParcel,
    unpacked,
)
from rubricgrade.version import exact_version

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Named:
    """An agent that each node makes for itself, because it calls a model."""

    name: str
    options: ModelOptions


@dataclass(frozen=True, slots=True)
class Orders:
    """What a node is started with.

    Attributes:
        terms: Without an agent, without files, and without caps on costs, which the ledger keeps.
        agent: Who acts.
        verdicts: The files of recorded verdicts.
        template: The folder of the template to grade in, packed, by its name; empty if it is none or has a name.
    """

    terms: Terms
    agent: Agent | Named | None = None
    verdicts: tuple[bytes, ...] = ()
    template: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


class Node:
    """Plays and grades on one node.

    Args:
        name: The node's id.
        ledger: The actor that keeps the limits.
        orders: What all its work has in common.
    """

    def __init__(self, name: str, ledger: Any, orders: Orders) -> None:
        self._name = name
        self._ledger = ledger
        self._orders = orders
        self._held = AsyncExitStack()
        self._known: dict[Any, asyncio.Task[Any]] = {}
        self._scratch = Path()
        self._here: Here | None = None
        self._told = 0

    async def begin(self) -> str | RubricgradeError:
        """Get ready; returns this package's exact version, or why it can't be done."""
        try:
            self._scratch = Path(self._held.enter_context(tempfile.TemporaryDirectory(prefix="rubricgrade-node-")))
            terms = self._terms()
            judges = Judges(terms.judge, shared=Teller(self._ledger, self._name))
            # The rubrics come later; a node that lacks what the named judge needs is left out at once.
            judges.check(None)
            await self._held.enter_async_context(judges)
            self._here = await self._held.enter_async_context(here(terms, judges))
        except RubricgradeError as error:
            return error
        return exact_version()

    async def play(self, task: list[Any], sample: int, *, blame: bool) -> Played | RubricgradeError:
        """Make one attempt.

        Args:
            task: The reference of a `TaskParcel`, in a list so that it is fetched once and not with every call.
            sample: The attempt's number.
            blame: As in `run_episode`.

        Returns:
            What came of it, or the error that `contract.Workers.play` raises.
        """
        try:
            with tempfile.TemporaryDirectory(dir=self._scratch) as place:
                folder = Path(place)
                episode = await self._ready.play(await self._task(task), sample, folder, blame=blame)
                parcel = await asyncio.to_thread(TrajectoryParcel.of, episode.trajectory)
        except RubricgradeError as error:
            return error
        return Played(parcel, episode.grade.to_json(), episode.end, episode.timing)

    async def grade(
        self, trajectory: TrajectoryParcel, rubric: list[Any], task: list[Any] | None
    ) -> Graded | RubricgradeError:
        """Grade one trajectory; rubric and task are references as in `play`. Errors are returned."""
        try:
            with tempfile.TemporaryDirectory(dir=self._scratch) as place:
                grade = await self._ready.grade(
                    await asyncio.to_thread(trajectory.open, Path(place)),
                    await self._rubric(rubric),
                    None if task is None else await self._task(task),
                )
        except RubricgradeError as error:
            return error
        return Graded(grade.to_json(), self._new_questions())

    async def end(self) -> None:
        """Close what is open and remove what lies about."""
        await self._held.aclose()

    def _new_questions(self) -> tuple[str, ...]:
        """Questions that nobody could be asked, as far as they were not told before."""
        found = list(self._ready.judges.unanswered.values())[self._told :]
        self._told += len(found)
        return tuple(verdict.model_dump_json() for verdict in found)

    @property
    def _ready(self) -> Here:
        if self._here is None:
            raise RuntimeError("begin() comes first")
        return self._here

    def _terms(self) -> Terms:
        """The terms with everything that travelled apart from them."""
        orders = self._orders
        agent = orders.agent
        if isinstance(agent, Named):
            agent = choose_agent(agent.name, agent.options, shared=Teller(self._ledger, self._name))
            if isinstance(agent, ToolLoop):
                agent.check()
        files: list[Path] = []
        for number, data in enumerate(orders.verdicts):
            files.append(self._scratch / f"verdicts-{number}.jsonl")
            files[-1].write_bytes(data)
        terms = replace(orders.terms, agent=agent, judge=replace(orders.terms.judge, verdicts=tuple(files)))
        for name, data in orders.template.items():
            unpacked(data, self._scratch / "template" / name)
            terms = replace(terms, template=self._scratch / "template" / name)
        return terms

    async def _task(self, goods: list[Any]) -> Task:
        async def fetch() -> Task:
            parcel: TaskParcel = await goods[0]
            return await asyncio.to_thread(parcel.open, self._scratch / "tasks")

        return await self._once(goods[0], fetch())

    async def _rubric(self, goods: list[Any]) -> Rubric:
        async def fetch() -> Rubric:
            parcel: RubricParcel = await goods[0]
            return parcel.open()

        return await self._once(goods[0], fetch())

    async def _once(self, key: Any, work: Any) -> Any:
        """The result of what was begun for a key; somebody who leaves does not end it for the others."""
        if key in self._known:
            work.close()
        else:
            self._known[key] = asyncio.ensure_future(work)
        return await asyncio.shield(self._known[key])
