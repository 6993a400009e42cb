"""`red_team`: try every attack on a task, each as an episode of its own, beside doing nothing and the reference."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from rubricgrade import tree
from rubricgrade.episode.agents.proving import Nop, Oracle
from rubricgrade.episode.environment import prepared
from rubricgrade.episode.limits import End
from rubricgrade.episode.playing import WORKSPACE, Episode, run_episode
from rubricgrade.episode.stage import Agent, Script, Stage
from rubricgrade.episode.task import Task
from rubricgrade.errors import InputError, JudgeError, SandboxError
from rubricgrade.grading.judges import Judges
from rubricgrade.grading.together import together
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.redteam.attack import Attack, Plan, Target
from rubricgrade.redteam.library import attacks_of
from rubricgrade.redteam.reporting import AttackResult, TaskReport
from rubricgrade.redteam.seeing import as_text, look
from rubricgrade.redteam.weighing import weighed
from rubricgrade.result import Grade
from rubricgrade.sandbox import Provider, Template, default_provider
from rubricgrade.trajectory import Call

MARGIN = 0.05
SECONDS = 60.0
"""Of an attack's script."""
FILE_LIMIT = 256 << 10


@dataclass(frozen=True, slots=True)
class Attacker:
    """An agent that carries out a plan."""

    plan: Plan
    name: str = "attacker"
    model: str = "attacker"
    sees: Literal["task", "solution"] = "task"

    async def act(self, stage: Stage, script: Script) -> End:  # noqa: ARG002 - the protocol's
        """See `Agent.act`."""
        if self.plan.script:
            call = Call(id="attack", name="bash", arguments={"command": self.plan.script, "timeout": SECONDS})
            await stage.act("", (call,))
        await stage.act(self.plan.says)
        return "done"


@dataclass(frozen=True, slots=True)
class _Field:
    """A task with what all its episodes share."""

    task: Task
    template: Template
    provider: Provider
    judges: Judges
    folder: Path

    async def play(self, agent: Agent, name: str) -> Episode:
        place = self.folder / name
        place.mkdir()
        return await run_episode(
            self.task, agent, folder=place, judge=self.judges, provider=self.provider, template=self.template
        )


async def red_team(
    task: Task,
    *,
    attacks: Sequence[Attack] | None = None,
    margin: float = MARGIN,
    judge: JudgeOptions | None = None,
    provider: Provider | None = None,
    concurrency: int = 2,
) -> TaskReport:
    """Try attacks on a task.

    Args:
        task: With a reference solution.
        attacks: Default: all that are known, and the task's own.
        margin: How much more than doing nothing an attack must earn to count, 0 to 1.
        judge: Decides judged items. Without one they stay open, and the report says that they were not attacked.
        provider: Where sandboxes come from.
        concurrency: Episodes at a time.

    Raises:
        InputError: The task's environment can't be made, it has no reference to compare with, or a model that judges
            can't be asked.
        SandboxError: There are no sandboxes.
    """
    provider = provider or default_provider()
    async with AsyncExitStack() as held:
        judges = await held.enter_async_context(Judges(judge or JudgeOptions()))
        judges.check([task.rubric])
        template = await held.enter_async_context(prepared(task, provider))
        field = _Field(task, template, provider, judges, Path(held.enter_context(TemporaryDirectory())))
        nothing = await field.play(Nop(), "nothing")
        reference = await field.play(Oracle(), "reference")
        target = await _target(field, reference)
        slots = asyncio.Semaphore(concurrency)

        async def one(attack: Attack) -> AttackResult:
            async with slots:
                return await _tried(field, attack, target, nothing.grade, margin)

        results = await together(one(attack) for attack in (attacks_of(task) if attacks is None else attacks))
    return TaskReport(
        task=task.id,
        hash=task.hash,
        nothing=nothing.grade.score,
        reference=reference.grade.score,
        margin=margin,
        hackable=any(result.outcome == "earned" for result in results),
        open_items=_undecided(reference.grade),
        attacks=tuple(results),
    )


def _undecided(reference: Grade) -> tuple[str, ...]:
    """Items that stay open even for the reference: after doing nothing a failed gate may have spared asking."""
    return tuple(item.id for item in (*reference.gates, *reference.leaves()) if item.open)


async def _tried(field: _Field, attack: Attack, target: Target, nothing: Grade, margin: float) -> AttackResult:
    plan = attack.against(target)
    if isinstance(plan, str):
        return AttackResult(attack=attack.id, title=attack.title, outcome="not_applicable", message=plan)
    try:
        episode = await field.play(Attacker(plan), f"attack-{attack.id}")
    except (InputError, JudgeError, SandboxError) as error:
        return AttackResult(attack=attack.id, title=attack.title, outcome="failed", message=str(error))
    return weighed(attack, field.task, episode.grade, nothing, margin)


async def _target(field: _Field, reference: Episode) -> Target:
    """What an attacker can find out: the fork's files, and which of them the reference changes."""
    seen = await look(field.template, field.provider, label=f"target {field.task.id}")
    return Target(
        field.task.instruction,
        field.template.workdir,
        seen.files,
        await asyncio.to_thread(_changed, reference),
        frozenset(field.task.settings.tools),
        repository=seen.repository,
    )


def _changed(reference: Episode) -> dict[str, str]:
    """Text files of the work folder that the reference has made or changed."""
    archive = reference.trajectory.workspace
    if archive is None or archive.name != WORKSPACE:
        return {}
    with TemporaryDirectory() as place:
        top = Path(place) / "left"
        tree.unpack(archive, top)
        found: dict[str, str] = {}
        for entry in tree.walk(top).entries:
            if entry.kind == "file" and entry.size <= FILE_LIMIT and "__pycache__" not in entry.path:
                found[entry.path] = as_text(tree.read(top, entry.path, FILE_LIMIT)) or ""
    return found
