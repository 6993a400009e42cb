"""An episode of several steps: one after the other in the same sandbox, each kept as it was left, to be verified."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path, PurePosixPath

from rubricgrade.episode.limits import End
from rubricgrade.episode.stage import Agent, Script, Stage
from rubricgrade.episode.stepping import Step
from rubricgrade.episode.task import Task
from rubricgrade.errors import CheckError

KEPT = "steps"
LARGEST = 64 << 20
SETUP_SECONDS = 600.0
SOLUTION = "/solution"

Act = Callable[[Stage, Script], Awaitable[End]]
Reward = Callable[[Step], Awaitable[float | None]]


async def walk(task: Task, agent: Agent, stage: Stage, sample: int, *, act: Act, world: Path, reward: Reward) -> End:
    """Carry out the steps of a task until one falls short of what it must reach.

    What the agent left running ends with each step: nothing may change while the work folder is kept.

    Args:
        task: Has steps.
        agent: Who acts.
        stage: The episode; each step is shown its own instruction and limits.
        sample: The attempt's number.
        act: Lets the agent act on one step.
        world: The episode's world, where the work folder after each step is kept.
        reward: What a step has earned, out of what is kept.

    Returns:
        How the last step that was made ended.

    Raises:
        CheckError: A step can't be prepared, kept or verified.
    """
    end: End = "done"
    (world / KEPT).mkdir(parents=True)
    for step in task.steps:
        folder = task.folder / "steps" / step.name
        await _prepare(folder, stage, solution=agent.sees == "solution")
        seconds = stage.limits.seconds if step.seconds is None else min(step.seconds, stage.limits.seconds)
        limits = replace(stage.limits, seconds=seconds)
        end = await act(
            replace(stage, instruction=step.instruction, limits=limits), Script(task.id, folder, sample, step.name)
        )
        await _keep(stage, world / KEPT / f"{step.name}.tar.gz")
        if step.least is None or step is task.steps[-1]:
            continue
        earned = await reward(step)
        if earned is None:
            raise CheckError(f"step {step.name} of {task.id} could not be verified, so nobody knows whether to go on")
        if earned < step.least:
            break
    return end


async def _prepare(folder: Path, stage: Stage, *, solution: bool) -> None:
    """Lay out what a step brings for the work folder, run its set-up, and show the reference to who may see it."""
    await _copy(folder / "workdir", stage, stage.workdir)
    if (folder / "workdir" / "setup.sh").is_file():
        done = await stage.sandbox.exec(["bash", "setup.sh"], timeout=SETUP_SECONDS)
        if not done.ok:
            said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()[-500:]
            raise CheckError(f"{folder / 'workdir' / 'setup.sh'} fails: {said or f'exit code {done.code}'}")
    if solution:
        await stage.sandbox.exec(["find", SOLUTION, "-mindepth", "1", "-delete"])
        await _copy(folder / "solution", stage, SOLUTION)


async def _copy(source: Path, stage: Stage, target: str) -> None:
    for name, (data, mode) in (await asyncio.to_thread(_files, source)).items():
        await stage.sandbox.write(str(PurePosixPath(target, name)), data, mode=mode)


def _files(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mode & 0o777) for path in files}


async def _keep(stage: Stage, archive: Path) -> None:
    await stage.sandbox.exec(["sh", "-c", "kill -9 -1"], timeout=10)
    done = await stage.sandbox.exec(
        ["tar", "-C", stage.workdir, "-czf", "-", "."], timeout=SETUP_SECONDS, limit=LARGEST
    )
    if not done.ok or len(done.stdout) < done.stdout_total:
        why = done.stderr.decode("utf-8", "replace").strip()[-300:] or f"is larger than {LARGEST >> 20} MiB"
        raise CheckError(f"the work folder can't be kept between steps: {shlex.quote(stage.workdir)} {why}")
    await asyncio.to_thread(archive.write_bytes, done.stdout)
