"""`run_episode`: fork, act, snapshot, end the fork, grade what was left. The order is the safety of it."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncGenerator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rubricgrade import tree
from rubricgrade.episode.agents.tool_loop import ToolLoop
from rubricgrade.episode.environment import graded_in, prepared
from rubricgrade.episode.limits import End, Limits
from rubricgrade.episode.outside import OutsideTools, outside_tools
from rubricgrade.episode.recording import Recording
from rubricgrade.episode.stage import Agent, Script, Stage
from rubricgrade.episode.stepping import Step as TaskStep
from rubricgrade.episode.task import Task
from rubricgrade.episode.tools import Toolbox
from rubricgrade.episode.walking import SOLUTION, walk
from rubricgrade.errors import SandboxLost
from rubricgrade.grading import agrade
from rubricgrade.grading.judges import Judges
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.readers import write_trajectory
from rubricgrade.result import Grade
from rubricgrade.sandbox import Layer, Provider, Sandbox, Template, default_provider
from rubricgrade.trajectory import Step, Text, Trajectory
from rubricgrade.trajectory import Template as TemplateName

WORKSPACE = "workspace.tar.zst"
WORLD = "world"
SYSTEM = (
    "You work in {workdir} on a Linux machine, with the tools that you are given. Do what the task asks, check your"
    " work, and when you are done answer with a short summary and no tool call."
)


@dataclass(frozen=True, slots=True)
class Timing:
    """Wall time of the parts of an episode, in milliseconds."""

    fork_ms: int
    agent_ms: int
    grade_ms: int


@dataclass(frozen=True, slots=True)
class Episode:
    """One attempt with its grade.

    Attributes:
        trajectory: What happened; knows where its files lie as long as its folder exists.
        grade: What it came to.
        end: Why the agent stopped.
        timing: How long it took.
    """

    trajectory: Trajectory
    grade: Grade
    end: End
    timing: Timing


async def run_episode(
    task: Task,
    agent: Agent,
    *,
    sample: int = 0,
    folder: Path | None = None,
    limits: Limits | None = None,
    judge: str | JudgeOptions | Judges | None = None,
    provider: Provider | None = None,
    template: Template | None = None,
    label: str = "",
    blame: bool = False,
) -> Episode:
    """Let an agent act on a task once, and grade what it left.

    Args:
        task: The task.
        agent: Who acts.
        sample: The attempt's number.
        folder: An empty folder for trajectory, workspace, world and grade. None keeps nothing on disk.
        limits: What the agent may take; the task's own limits count besides.
        judge: As in `agrade`.
        provider: Where sandboxes come from.
        template: The task's, if the caller holds it `prepared`; otherwise it is made and ended here.
        label: Names the agent's sandbox for `Provider.reap`.
        blame: Whether a sandbox that dies under the agent counts as the agent's doing, because it happened before: it
            is then graded as if it had done nothing. Not so where the host has measured that it was itself what failed.

    Returns:
        The episode. However it ended, what the agent left is graded.

    Raises:
        InputError: The task's environment can't be made, or the agent's script can't be read; or the agent's model, or
            one that judges, can't be asked, which is found out first.
        SandboxError: The agent's sandbox died or could not be made. Nothing is known about the agent.
        JudgeError: The agent's model could not be asked.
        CheckError: The task's own tools do not work.
    """
    provider = provider or default_provider()
    judges = Judges.of(judge)
    if isinstance(agent, ToolLoop):
        agent.check()
    if not judges.admits(task.rubric):
        judges.check([task.rubric])
    async with AsyncExitStack() as held:
        if folder is None:
            folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
        if template is None:
            template = await held.enter_async_context(prepared(task, provider))
        grading = await held.enter_async_context(graded_in(task, template, provider))
        started = time.monotonic()
        recording = Recording()
        async with _opened(task, agent, template, provider, label) as sandbox:
            forked = time.monotonic()
            async with outside_tools(task, provider, sandbox) as outside:
                limits = task.limits(limits)
                stage = _stage(task, template, sandbox, outside, record=recording, limits=limits)
                act = partial(_act, agent)
                if task.steps:

                    async def reward(step: TaskStep) -> float | None:
                        so_far = _trajectory(task, agent, template, recording, sample=sample, end="done", folder=folder)
                        return await _step_reward(so_far, task, step, provider, grading)

                    world = folder / WORLD
                    doing = walk(task, agent, stage, sample, act=act, world=world, reward=reward)
                else:
                    doing = act(stage, Script(task.id, task.folder, sample))
                end = await _acted(doing, stage, archive=folder / WORKSPACE, blame=blame)
                acted = time.monotonic()
                if outside is not None:
                    await outside.keep(folder / WORLD)
        trajectory = _trajectory(task, agent, template, recording, sample=sample, end=end, folder=folder)
        trajectory = await asyncio.to_thread(_with_hashes, trajectory)
        write_trajectory(trajectory, folder)
        ended = time.monotonic()
        grade = await agrade(trajectory, task.rubric, judge=judges, provider=provider, template=grading, store=folder)
    timing = Timing(_ms(forked - started), _ms(acted - forked), _ms(time.monotonic() - ended))
    return Episode(trajectory, grade, end, timing)


@asynccontextmanager
async def _opened(
    task: Task, agent: Agent, template: Template, provider: Provider, label: str
) -> AsyncGenerator[Sandbox]:
    """The agent's fork; ended whatever happens, also when we are cancelled."""
    async with AsyncExitStack() as held:
        layers = template.layers
        if agent.sees == "solution" and task.steps:
            nothing = held.enter_context(tempfile.TemporaryDirectory())
            folder = await held.enter_async_context(provider.stage(Path(nothing)))
            layers = (*layers, Layer(folder, SOLUTION, "overlay"))  # filled for each step
        elif agent.sees == "solution" and (task.folder / "solution").is_dir():
            folder = await held.enter_async_context(provider.stage(task.folder / "solution"))
            layers = (*layers, Layer(folder, SOLUTION))
        sandbox = await provider.open(
            replace(template, layers=layers, upper="disk"), label=label or f"episode {task.id}"
        )
        try:
            yield sandbox
        finally:
            await sandbox.close()


def _stage(
    task: Task,
    template: Template,
    sandbox: Sandbox,
    outside: OutsideTools | None,
    *,
    record: Recording,
    limits: Limits,
) -> Stage:
    return Stage(
        instruction=task.instruction,
        system=task.settings.system or SYSTEM.format(workdir=template.workdir),
        workdir=template.workdir,
        sandbox=sandbox,
        toolbox=Toolbox(sandbox, task.settings.tools, outside),
        record=record,
        limits=limits,
    )


async def _act(agent: Agent, stage: Stage, script: Script) -> End:
    stage.open()
    try:
        async with asyncio.timeout(stage.limits.seconds):
            return await agent.act(stage, script)
    except TimeoutError:
        return "timeout"


async def _step_reward(
    so_far: Trajectory, task: Task, step: TaskStep, provider: Provider, template: Template
) -> float | None:
    """What a step has earned by its test script; None when that could not be found out."""
    with tempfile.TemporaryDirectory() as place:
        nothing = Path(place) / "nothing"
        nothing.mkdir()
        tree.pack(nothing, Path(place) / WORKSPACE)  # the check takes what was kept of the step
        found = so_far.located(folder=None, workspace=Path(place) / WORKSPACE, world=so_far.world)
        grade = await agrade(found, task.rubric, provider=provider, template=template)
    record = grade.criteria[0].check
    return None if record is None else record.fields.get(step.name)


async def _acted(doing: Coroutine[Any, Any, End], stage: Stage, *, archive: Path, blame: bool) -> End:
    """Let the agent act, end what it has left running, and keep what it has changed."""
    try:
        end = await doing
        # Nothing may change under the snapshot.
        await stage.sandbox.exec(["sh", "-c", "kill -9 -1"], timeout=10)
        await stage.sandbox.snapshot(archive)
    except SandboxLost as error:
        if not blame or error.by_host:
            raise
        with tempfile.TemporaryDirectory() as nothing:
            tree.pack(Path(nothing), archive)
        return "lost"
    return end


def _trajectory(
    task: Task, agent: Agent, template: Template, recording: Recording, *, sample: int, end: End, folder: Path
) -> Trajectory:
    world = folder / WORLD
    return Trajectory(
        id=f"{task.id}-{sample}",
        task=task.instruction,
        task_id=task.id,
        sample=sample,
        model=recording.model or agent.model,
        steps=_answered(recording.steps),
        artifacts=task.artifacts,
        template=TemplateName(name=template.name, hash=template.digest),
        usage=recording.total(),
        meta={"end": end, "agent": agent.name},
    ).located(folder=folder, workspace=folder / WORKSPACE, world=world if world.is_dir() else None)


def _with_hashes(trajectory: Trajectory) -> Trajectory:
    """The same, with the hashes of what lies beside it."""
    left = {"workspace_hash": trajectory.workspace, "world_hash": trajectory.world}
    hashes = {name: tree.identity(place) for name, place in left.items() if place is not None}
    return trajectory.model_copy(update=hashes)


def _answered(steps: list[Step]) -> tuple[Step, ...]:
    """The steps, with a result for calls that the time limit cut off: a reader would take them for a gap."""
    answered = {step.answers for step in steps}
    missing = [
        Step(
            role="tool",
            content=(Text(text="not carried out: the episode ended"),),
            answers=place,
            tool=call.name,
            failed=True,
        )
        for index, step in enumerate(steps)
        for number, call in enumerate(step.calls, 1)
        if (place := (index, number)) not in answered
    ]
    return (*steps, *missing)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
