"""`run`: every missing attempt of a run, a bounded number at a time; each is done once, or not at all."""

from __future__ import annotations

import asyncio
import fcntl
import os
import random
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AsyncExitStack, aclosing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rubricgrade import tree
from rubricgrade.episode.environment import prepared
from rubricgrade.episode.limits import Limits
from rubricgrade.episode.playing import Episode, run_episode
from rubricgrade.episode.stage import Agent
from rubricgrade.episode.task import Task
from rubricgrade.errors import CheckError, InputError, JudgeError, SandboxError, StoreError
from rubricgrade.grading.judges import Judges
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.runs.lines import FILE, Line, append, line_of, read_lines
from rubricgrade.runs.manifest import enter, manifest_of
from rubricgrade.sandbox import Provider, Template, default_provider

WAIT = 0.5
LONGEST_WAIT = 30.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is to do.

    Attributes:
        tasks: With distinct ids.
        agent: Who acts.
        folder: The run's folder; its name is the run's.
        samples: Attempts per task.
        concurrency: Episodes at a time. Calls to models have limits of their own, in the agent's and judge's options.
        limits: Of one episode.
        judge: How judged criteria are decided.
        network: Whether tasks that ask for the internet get it.
        retries: How often an attempt is made again that failed by no fault of the agent's.
    """

    tasks: tuple[Task, ...]
    agent: Agent
    folder: Path
    samples: int = 1
    concurrency: int = 4
    limits: Limits = field(default_factory=Limits)
    judge: JudgeOptions = field(default_factory=JudgeOptions)
    network: bool = False
    retries: int = 3

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
    done = {line.key for line in read_lines(plan.folder / FILE)}
    return [(task, sample) for sample in range(plan.samples) for task in plan.tasks if (task.id, sample) not in done]


async def run(plan: Plan, *, provider: Provider | None = None) -> AsyncGenerator[Outcome]:
    """Make all missing attempts; yields each as it is done. Call it again to go on with a run that was cut.

    Leaving the loop ends what is under way: forks are closed, and attempts that are not done leave no line.

    Args:
        plan: What to do.
        provider: Where sandboxes come from.

    Raises:
        InputError: The folder holds another run.
        JudgeError: ``budget``: the cost cap is reached.
        StoreError: The run's folder can't be written.
    """
    judge = plan.judge.model or ("recorded" if plan.judge.verdicts else None)
    wanted = manifest_of(
        plan.folder.resolve().name,
        plan.tasks,
        plan.agent,
        samples=plan.samples,
        limits=plan.limits,
        network=plan.network,
        judge=judge,
    )
    manifest = enter(plan.folder, wanted)
    jobs = missing(plan)
    async with AsyncExitStack() as held:
        judges = await held.enter_async_context(Judges(plan.judge))
        crew = _Crew(plan, manifest.run, provider or default_provider(), judges, held)
        async with aclosing(_worked(jobs, crew)) as outcomes:
            async for outcome in outcomes:
                yield outcome


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
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


class _Crew:
    """What the workers of a run share."""

    def __init__(self, plan: Plan, name: str, provider: Provider, judges: Judges, held: AsyncExitStack) -> None:
        self.plan = plan
        self._run = name
        self._provider = provider
        self._judges = judges
        self._held = held
        self._templates: dict[str, Template] = {}
        self._preparing: dict[str, asyncio.Lock] = {task.id: asyncio.Lock() for task in plan.tasks}

    async def attempt(self, task: Task, sample: int) -> Outcome | None:
        """Make one attempt; None when another process has it."""
        folder = self.plan.folder / task.id / str(sample)
        with claimed(folder) as ours:
            if not ours or any(line.key == (task.id, sample) for line in read_lines(self.plan.folder / FILE)):
                return None
            for retry in range(self.plan.retries + 1):
                try:
                    episode = await self._episode(task, sample, folder, blame=retry == self.plan.retries)
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
                    line = line_of(self._run, task.hash, episode)
                    return line if append(self.plan.folder / FILE, line) else None
        return None

    async def _episode(self, task: Task, sample: int, folder: Path, *, blame: bool) -> Episode:
        template = await self._template(task)
        await asyncio.to_thread(_clear, folder)
        return await run_episode(
            task,
            self.plan.agent,
            sample=sample,
            folder=folder,
            limits=self.plan.limits,
            judge=self._judges,
            provider=self._provider,
            template=template,
            label=f"run {self._run}",
            blame=blame,
        )

    async def _template(self, task: Task) -> Template:
        """A task's template: made once, kept until the last fork of the run is closed."""
        async with self._preparing[task.id]:
            if task.id not in self._templates:
                making = prepared(task, self._provider, network=self.plan.network)
                self._templates[task.id] = await self._held.enter_async_context(making)
            return self._templates[task.id]


@contextmanager
def claimed(folder: Path) -> Generator[bool]:
    """Hold an attempt's folder for this process; the value says whether it is ours. A crash gives it back."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise StoreError(f"can't write into {folder}: {error.strerror or error}") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


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
