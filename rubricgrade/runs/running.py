"""`run`: every missing attempt of a run, a bounded number at a time; each is done once, or not at all."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

from rubricgrade import tree
from rubricgrade.episode.agents.tool_loop import ToolLoop
from rubricgrade.episode.limits import Limits
from rubricgrade.episode.stage import Agent
from rubricgrade.episode.task import Task
from rubricgrade.errors import CheckError, Fault, InputError, JudgeError, SandboxError
from rubricgrade.grading.asked import check_judge
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.result import RECORDED
from rubricgrade.runs.executing import Executor, Local, Terms, Workers
from rubricgrade.runs.lines import FILE as LINES
from rubricgrade.runs.lines import Line, line_of
from rubricgrade.runs.manifest import FILE as MANIFEST
from rubricgrade.runs.manifest import enter, manifest_of
from rubricgrade.runs.places import Place, Where, place_of
from rubricgrade.runs.places.local import LocalPlace
from rubricgrade.runs.spending import Purse
from rubricgrade.sandbox import Provider

WAIT = 0.5
LONGEST_WAIT = 30.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is to do.

    Attributes:
        tasks: With distinct ids.
        agent: Who acts.
        folder: The run's folder, or its URL; its name is the run's.
        samples: Attempts per task.
        concurrency: Episodes at a time. Calls to models have limits of their own, in the agent's and judge's options.
        limits: Of one episode.
        judge: How judged criteria are decided.
        network: Whether tasks that ask for the internet get it.
        retries: How often an attempt is made again that failed by no fault of the agent's.
        max_cost: US dollars of agents and judges, also of what was done before; then no attempt is begun. What is
            under way is finished.
    """

    tasks: tuple[Task, ...]
    agent: Agent
    folder: Where
    samples: int = 1
    concurrency: int = 4
    limits: Limits = field(default_factory=Limits)
    judge: JudgeOptions = field(default_factory=JudgeOptions)
    network: bool = False
    retries: int = 3
    max_cost: float | None = None

    def __post_init__(self) -> None:
        names = [task.id for task in self.tasks]
        if doubled := sorted({name for name in names if names.count(name) > 1}):
            raise InputError(f"several tasks are called {', '.join(doubled)}")
        if not names or self.samples < 1 or self.concurrency < 1:
            raise InputError("a run has at least one task, one sample, and one episode at a time")


@dataclass(frozen=True, slots=True)
class Lost:
    """An attempt that could not be made, by no fault of the agent's. It has no line: the run is resumed to make it."""

    task: str
    sample: int
    why: str


Outcome = Line | Lost


def missing(plan: Plan) -> list[tuple[Task, int]]:
    """The attempts without a line, one of each task after the other, so that a run that is cut is cut evenly."""
    done = {line.key for line in place_of(plan.folder).lines()}
    return [(task, sample) for sample in range(plan.samples) for task in plan.tasks if (task.id, sample) not in done]


async def run(
    plan: Plan, *, provider: Provider | None = None, executor: Executor | None = None
) -> AsyncGenerator[Outcome]:
    """Make all missing attempts; yields each as it is done. Call it again to go on with a run that was cut.

    Leaving the loop ends what is under way: forks are closed, and attempts that are not done leave no line.

    Args:
        plan: What to do.
        provider: Where sandboxes come from.
        executor: Who plays and grades; default: this process, with `provider`. Only this process writes the record.

    Raises:
        InputError: The folder holds another run, or something else where attempts would go; or the agent's model, or
            one that judges, can't be asked. Nothing was written.
        JudgeError: ``budget``: the cost cap is reached, or it can't be known whether it is.
        StoreError: The run's folder can't be written.
    """
    judge = plan.judge.model or (RECORDED if plan.judge.verdicts else None)
    place = place_of(plan.folder)
    wanted = manifest_of(
        place.name,
        plan.tasks,
        plan.agent,
        samples=plan.samples,
        limits=plan.limits,
        network=plan.network,
        judge=judge,
    )
    _refuse_strangers(place, plan.tasks)
    jobs = missing(plan)
    purse = Purse(plan.max_cost, place.lines())
    if jobs:
        purse.check()
    _refuse_the_unaskable(plan, jobs, here=executor is None or isinstance(executor, Local))
    manifest = enter(place, wanted)
    if not isinstance(place, LocalPlace):
        # Without locks others who share the run can only be kept out of each other's way.
        random.shuffle(jobs)
    terms = Terms(plan.judge, plan.agent, plan.limits, network=plan.network, label=f"run {manifest.run}")
    async with (executor or Local(provider)).workers(terms) as workers:
        crew = _Crew(plan, place, manifest.run, workers, purse)
        async with aclosing(_worked(jobs, crew)) as outcomes:
            async for outcome in outcomes:
                yield outcome


def _refuse_strangers(place: Place, tasks: Sequence[Task]) -> None:
    """Take no folder in which others keep something under our names: the folder of an attempt is emptied first."""
    if not isinstance(place, LocalPlace):
        return
    names = [LINES, *(task.id for task in tasks)]
    # In this order: who begins this run at the same time writes its manifest before anything else.
    there = [place.folder / name for name in names if (place.folder / name).exists()]
    if there and place.read(MANIFEST) is None:
        why = f"is where the run would write, and belongs to none (there is no {MANIFEST}): name another folder"
        raise InputError([Fault(why, str(path)) for path in there])


def _refuse_the_unaskable(plan: Plan, jobs: Sequence[tuple[Task, int]], *, here: bool) -> None:
    """Begin no run whose agent or judge can't be asked. Who has nothing to do any more needs neither."""
    if not jobs:
        return
    if isinstance(plan.agent, ToolLoop):
        plan.agent.check(here=here)
    check_judge(plan.judge, [task.rubric for task in {task.id: task for task, _ in jobs}.values()], here=here)


async def _worked(jobs: list[tuple[Task, int]], crew: _Crew) -> AsyncGenerator[Outcome]:
    """Have the jobs done by a number of workers; what one of them raises ends the others and is raised."""
    queue: asyncio.Queue[Outcome | None] = asyncio.Queue()
    waiting = iter(jobs)

    async def work() -> None:
        for task, sample in waiting:
            if (outcome := await crew.attempt(task, sample)) is not None:
                queue.put_nowait(outcome)

    workers = [asyncio.create_task(work()) for _ in range(min(crew.plan.concurrency, len(jobs)))]
    everybody = asyncio.gather(*workers)
    everybody.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while workers and (outcome := await queue.get()) is not None:
            yield outcome
        await everybody
    finally:
        everybody.cancel()
        # What they were cut in is nobody's error; `everybody` may have been left without being waited for.
        await asyncio.gather(*workers, return_exceptions=True)
        await asyncio.gather(everybody, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class _Crew:
    """What the tasks that see to a run's attempts share."""

    plan: Plan
    place: Place
    run: str
    workers: Workers
    purse: Purse

    async def attempt(self, task: Task, sample: int) -> Outcome | None:
        """Make one attempt; None when another process has it."""
        self.purse.check()
        with self.place.claim(task.id, sample) as claim:
            if claim is None or await asyncio.to_thread(self.place.has, task.id, sample):
                return None
            for retry in range(self.plan.retries + 1):
                try:
                    await asyncio.to_thread(_clear, claim.folder)
                    last = retry == self.plan.retries
                    episode = await self.workers.play(task, sample, claim.folder, blame=last)
                except InputError as error:
                    return Lost(task.id, sample, str(error))
                except (SandboxError, JudgeError, CheckError) as error:
                    if isinstance(error, JudgeError) and error.cause == "budget":
                        raise
                    if retry == self.plan.retries:
                        return Lost(task.id, sample, str(error))
                    # A provider that says "too many" is left in peace for a while, longer each time.
                    pause = min(LONGEST_WAIT, WAIT * 2.0**retry)
                    await asyncio.sleep(pause * random.uniform(0.5, 1))  # noqa: S311 - spreads load, guards nothing
                else:
                    line = line_of(self.run, task.hash, episode)
                    self.purse.take(line)
                    return await asyncio.to_thread(claim.keep, line)
        return None


def _clear(folder: Path) -> None:
    """Remove what an attempt that was cut has left in its folder."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            tree.remove(path)
        else:
            path.unlink()


def load_tasks(paths: Sequence[Path]) -> tuple[Task, ...]:
    """Read task directories.

    Raises:
        InputError: With the faults of all of them.
    """
    tasks: list[Task] = []
    faults: list[InputError] = []
    for path in paths:
        try:
            tasks.append(Task.load(path))
        except InputError as error:
            faults.append(error)
    if faults:
        raise InputError([fault for error in faults for fault in error.faults])
    return tuple(tasks)
