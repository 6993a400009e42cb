"""What a run needs of whoever carries it out."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from rubricgrade.episode.limits import Limits
from rubricgrade.episode.playing import Episode
from rubricgrade.episode.stage import Agent
from rubricgrade.episode.task import Task
from rubricgrade.grading.template import Given
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.result import Grade
from rubricgrade.rubric import Rubric
from rubricgrade.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class Terms:
    """What all episodes and grades of one call have in common.

    Attributes:
        judge: How judged criteria are decided; one client, one cache and one budget for all.
        agent: Who acts; None when nobody does.
        limits: Of one episode.
        network: Whether tasks that ask for the internet get it.
        label: Names the agents' sandboxes.
        template: What to grade in where no task says it.
        ungated: Decide the criteria also when a gate has failed.
    """

    judge: JudgeOptions = field(default_factory=JudgeOptions)
    agent: Agent | None = None
    limits: Limits = field(default_factory=Limits)
    network: bool = False
    label: str = ""
    template: Given = None
    ungated: bool = False


class Workers(Protocol):
    """Those who work under some terms."""

    async def play(self, task: Task, sample: int, folder: Path, *, blame: bool) -> Episode:
        """Make one attempt; what it leaves is then in `folder`, which is empty before.

        Args:
            task: The task.
            sample: The attempt's number.
            folder: On this machine.
            blame: As in `run_episode`.

        Raises:
            InputError: The task's environment can't be made, or the agent's script can't be read.
            SandboxError: The agent's sandbox, or who was to play, died or could not be had.
            JudgeError: The agent's model could not be asked.
            CheckError: The task's own tools do not work.
        """
        ...

    async def grade(self, trajectory: Trajectory, rubric: Rubric, task: Task | None = None) -> Grade:
        """Grade one trajectory, in the task's template if there is a task. The grade is written nowhere.

        Raises:
            InputError: Something given can't be used.
            SandboxError: Who was to grade died or could not be had. (A sandbox that dies is in the grade.)
        """
        ...


class Executor(Protocol):
    """Brings workers together."""

    def workers(self, terms: Terms) -> AbstractAsyncContextManager[Workers]:
        """Workers for as long as the block runs; leaving it ends what they are at."""
        ...
