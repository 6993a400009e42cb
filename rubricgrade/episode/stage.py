"""What an agent works on: the instruction, the tools, its sandbox, and the record of what it does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NoReturn, Protocol, cast

from rubricgrade import twice
from rubricgrade.episode.limits import End, Limits
from rubricgrade.episode.recording import Recording
from rubricgrade.episode.tools import Told, Toolbox
from rubricgrade.grading.together import together
from rubricgrade.result import Usage
from rubricgrade.sandbox import Sandbox
from rubricgrade.trajectory import Call


@dataclass(frozen=True, slots=True)
class Stage:
    """One episode, as its agent sees it. Nothing hidden is reachable from here.

    Attributes:
        instruction: The task.
        system: The system prompt.
        workdir: The work folder's path inside.
        sandbox: The agent's own.
        toolbox: What it can call.
        record: Where everything is written down.
        limits: What it may take.
    """

    instruction: str
    system: str
    workdir: str
    sandbox: Sandbox
    toolbox: Toolbox
    record: Recording
    limits: Limits

    def open(self) -> None:
        """Write down what the agent is told, for each step anew."""
        self.record.opened = len(self.record.steps)
        self.record.say("system", self.system)
        self.record.say("user", self.instruction)

    async def act(
        self,
        text: str,
        calls: Sequence[Call] = (),
        *,
        reasoning: str = "",
        usage: Usage | None = None,
        at_once: bool = False,
    ) -> list[Told]:
        """Write down a reply of the agent and carry out its calls; a call that can't be read is answered.

        Args:
            text: What it says.
            calls: What it calls.
            reasoning: What it thought, if that is known.
            usage: What the reply took.
            at_once: Whether neighbouring calls that may overlap (see `Toolbox`) go on at the same time: a model
                that makes several in one reply means them so. A script means them in its order.

        Returns:
            What was answered, in the order of the calls.
        """
        step = self.record.say("assistant", text, calls=calls, reasoning=reasoning, usage=usage)
        results: list[Told] = []
        for beside, group in groupby(enumerate(calls, 1), lambda each: at_once and self._may_overlap(each[1])):
            for batch in [list(group)] if beside else [[each] for each in group]:
                results += await self._carried_out(step, batch)
        return results

    def _may_overlap(self, call: Call) -> bool:
        return call.arguments is None or self.toolbox.may_overlap(call.name)

    async def _carried_out(self, step: int, calls: Sequence[tuple[int, Call]]) -> list[Told]:
        """Carry out calls at the same time; what has been answered when they are cut off is written down as well."""
        slots = asyncio.Semaphore(self.limits.parallel)
        told: dict[int, Told] = {}

        async def one(number: int, call: Call) -> None:
            async with slots:
                told[number] = await self._told(call)

        try:
            await together(one(number, call) for number, call in calls)
        finally:
            for number, call in calls:
                if (answer := told.get(number)) is not None:
                    self.record.answer((step, number), call.name, answer.text, failed=answer.failed)
        return [told[number] for number, _ in calls]

    async def _told(self, call: Call) -> Told:
        if call.arguments is None:
            return Told("error: the arguments are no JSON object; nothing was done", failed=True)
        return await self.toolbox.call(call.name, call.arguments)


class Agent(Protocol):
    """Somebody who acts on a task."""

    @property
    def name(self) -> str:
        """What a run calls it; it identifies the agent among runs."""
        ...

    @property
    def model(self) -> str:
        """The model's name for reports."""
        ...

    @property
    def sees(self) -> Literal["task", "solution"]:
        """``solution`` mounts the reference solution at /solution: only for who proves a task."""
        ...

    async def act(self, stage: Stage, script: Script) -> End:
        """Act until done. A time limit cancels it; what it did until then counts.

        Raises:
            JudgeError: The model could not be asked, by no fault of the agent's. The attempt is then made again.
        """
        ...


@dataclass(frozen=True, slots=True)
class Script:
    """Which attempt this is, and where its task lies: for agents that repeat what is written down.

    Attributes:
        task: The task's id.
        folder: The task's folder.
        sample: The attempt's number.
        step: Of a task with several steps; then `folder` is the step's.
    """

    task: str
    folder: Path
    sample: int
    step: str | None = None


def read_call(id_: str, name: str, arguments: str) -> Call:
    """A tool call from a model's text; arguments that are no JSON object (no key twice) are kept as they came."""

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is no JSON")

    try:
        value: Any = json.loads(arguments or "{}", parse_constant=refuse, object_pairs_hook=twice.unique)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return Call(id=id_, name=name, arguments=cast("dict[str, Any]", value))
    return Call(id=id_, name=name, raw=arguments)
