"""What one call of `rubricgrade grade` asks for, checked as a whole before anything is run or written."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self, TypeVar

from rubricgrade.chat.routing import pick
from rubricgrade.cli.episodes import check_writable, find_trajectories, grade_folders
from rubricgrade.cli.variables import read_vars
from rubricgrade.errors import Fault, InputError, JudgeError
from rubricgrade.grading import agrade_all
from rubricgrade.grading.judges import Judges, names_judge
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.loading import load_rubric
from rubricgrade.loading.rubric import rubric_file
from rubricgrade.result import Grade
from rubricgrade.rubric import Rubric
from rubricgrade.store.grades import write_grade
from rubricgrade.store.verdicts import read_verdicts, write_verdicts
from rubricgrade.trajectory import Trajectory

VERDICTS = "verdicts.jsonl"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Request:
    """Everything loaded and checked.

    Attributes:
        rubric: Loaded, with its vars.
        trajectories: In the order of the arguments.
        folders: Where each one's grades go; empty to write none.
        judge: Settings of judging.
        concurrency: Trajectories at a time.
        ungated: Decide criteria although a gate failed.
        missing: Where to write the questions that nobody could be asked; None for nowhere.
        template: What the agent's code runs in; None for what each trajectory names.
    """

    rubric: Rubric
    trajectories: tuple[Trajectory, ...]
    folders: tuple[Path, ...]
    judge: JudgeOptions
    concurrency: int
    ungated: bool
    missing: Path | None
    template: str | None

    @classmethod
    def check(
        cls,
        rubric: Path,
        trajectories: Sequence[Path],
        judge: JudgeOptions,
        *,
        variables: Sequence[str],
        output: Path | None,
        store: bool,
        concurrency: int,
        ungated: bool,
        missing: Path | None,
        template: str | None,
    ) -> Self:
        """Load and check it all; `rubricgrade grade --help` explains the arguments.

        Raises:
            InputError: With the faults of the rubric, of every trajectory and of the options, all at once.
        """
        faults: list[Fault] = []
        loaded = _or_faults(faults, lambda: load_rubric(rubric, vars=read_vars(variables)))
        if missing is not None and loaded is not None and not (judge.model or names_judge(loaded)):
            # Whoever wants the open questions written down and names nobody to ask means to ask nobody.
            judge = replace(judge, offline=True)
        if judge.offline and not judge.verdicts:
            judge = replace(judge, verdicts=_beside(rubric))
        for file in judge.verdicts:
            _or_faults(faults, lambda file=file: read_verdicts(file))
        _or_faults(faults, lambda: _judge_can_be_asked(judge))
        found = _or_faults(faults, lambda: find_trajectories(trajectories))
        folders = _or_faults(faults, lambda: grade_folders(found, output) if found and store else [])
        if missing is not None:
            _or_faults(faults, lambda: check_writable(missing.parent))
        if faults or loaded is None or found is None or folders is None:
            raise InputError(faults)
        return cls(loaded, tuple(found), tuple(folders), judge, concurrency, ungated, missing, template)

    async def run(self, on_grade: Callable[[int, Grade], None]) -> None:
        """Grade all; `on_grade` gets the place in the list and the grade as each is done."""
        # What was loaded stays until the end: the collector need not look through it again and again.
        gc.freeze()
        async with Judges(self.judge) as judges:
            try:
                await agrade_all(
                    self.trajectories,
                    self.rubric,
                    judge=judges,
                    template=self.template,
                    ungated=self.ungated,
                    concurrency=self.concurrency,
                    on_grade=on_grade,
                )
            finally:
                if self.missing is not None:
                    write_verdicts(self.missing, judges.unanswered.values())

    def place(self, index: int) -> str:
        """The name of the folder that one trajectory came from; empty for one of many in a file."""
        folder = self.trajectories[index].folder
        return folder.name if folder is not None else ""

    def write(self, index: int, grade: Grade) -> Path | None:
        """Write the grade of one trajectory into its folder; None when none are kept."""
        return write_grade(grade, self.folders[index]) if self.folders else None


def _beside(rubric: Path) -> tuple[Path, ...]:
    """The recorded verdicts that lie with a rubric; an offline run takes them unless it is given others."""
    file = rubric_file(rubric).parent / VERDICTS
    return (file,) if file.is_file() else ()


def _judge_can_be_asked(judge: JudgeOptions) -> None:
    """Find out before the first trajectory, not after the last, that a key or an address is missing.

    Raises:
        InputError: The judge can't be called as it was named.
    """
    if judge.offline:
        return
    try:
        for model in (*judge.models, judge.escalate):
            if model is not None:
                pick(model, base=judge.api_base, key=judge.api_key, extra=judge.extra)
    except JudgeError as error:
        raise InputError(f"--judge: {error}") from error


def _or_faults(faults: list[Fault], load: Callable[[], T]) -> T | None:
    try:
        return load()
    except InputError as error:
        faults += error.faults
        return None
