"""What one call of `rubricgrade grade` asks for, checked as a whole before anything is run or written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self, TypeVar

from rubricgrade.cli.episodes import Found, find_trajectories, grade_places, same_ids
from rubricgrade.cli.variables import read_vars
from rubricgrade.collecting import collect_seldom
from rubricgrade.errors import Fault, InputError
from rubricgrade.grading import agrade_all
from rubricgrade.grading.admitting import admitted
from rubricgrade.grading.asked import check_judge, names_judge
from rubricgrade.grading.judges import Judges
from rubricgrade.grading.many import Elsewhere
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.loading import load_rubric
from rubricgrade.loading.rubric import rubric_file
from rubricgrade.result import Grade
from rubricgrade.rubric import Rubric
from rubricgrade.runs.places import Place
from rubricgrade.runs.places.local import LocalPlace
from rubricgrade.sandbox import default_provider
from rubricgrade.store.recorded import beside, write_verdicts
from rubricgrade.store.sources import Source, Sources, sources_name
from rubricgrade.trajectory import Trajectory

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Request:
    """Everything loaded and checked.

    Attributes:
        rubric: Loaded, with its vars.
        trajectories: In the order of the arguments.
        places: Where each one's grades go; empty to write none.
        judge: Settings of judging.
        concurrency: Trajectories at a time.
        ungated: Decide criteria although a gate failed.
        missing: Where to write the questions that nobody could be asked; None for nowhere.
        template: What the agent's code runs in; None for what each trajectory names.
        sources: Where each trajectory and the rubric lay, if grades go to another folder of this machine; else empty.
        skipped: Faults of trajectories that can't be read and were left out, as was asked.
        twice: What was named twice, and which trajectories have the same id, in words.
    """

    rubric: Rubric
    trajectories: tuple[Trajectory, ...]
    places: tuple[Place, ...]
    judge: JudgeOptions
    concurrency: int
    ungated: bool
    missing: Path | None
    template: str | None
    sources: tuple[Sources, ...] = ()
    skipped: tuple[Fault, ...] = ()
    twice: tuple[str, ...] = ()

    @classmethod
    def check(
        cls,
        rubric: Path,
        trajectories: Sequence[Path],
        judge: JudgeOptions,
        *,
        variables: Sequence[str],
        output: str | None,
        store: bool,
        concurrency: int,
        ungated: bool,
        missing: Path | None,
        template: str | None,
        dry_run: bool,
        skip_unreadable: bool = False,
    ) -> Self:
        """Load and check it all; `rubricgrade grade --help` explains the arguments.

        Raises:
            InputError: With the faults of the rubric, of every trajectory and of the options, all at once.
        """
        faults: list[Fault] = []
        skipped: list[Fault] | None = [] if skip_unreadable else None
        twice: list[str] = []
        loaded = _or_faults(faults, lambda: load_rubric(rubric, vars=read_vars(variables)))
        nobody = loaded is not None and not (judge.model or names_judge(loaded))
        if nobody and (missing is not None or beside(rubric_file(rubric))):
            # Whoever names nobody to ask, and has answers or wants the questions written down, means to ask nobody.
            judge = replace(judge, offline=True)
        if judge.offline and not judge.verdicts:
            judge = replace(judge, verdicts=beside(rubric_file(rubric)))
        found = _or_faults(faults, lambda: find_trajectories(trajectories, skipped, twice))
        read = [each.trajectory for each in found or ()]
        clash = same_ids(found or ())
        places = _or_faults(faults, lambda: grade_places(read, output) if read and store and not dry_run else [])
        # In a store, paths of this machine would help nobody.
        apart = output is not None and places and all(isinstance(place, LocalPlace) for place in places)
        if missing is not None:
            _or_faults(faults, lambda: LocalPlace(missing.parent).check_writable())
        if faults or loaded is None or found is None or places is None:
            # Alone it need be no fault: who has every answer already asks nobody, which `run` finds out.
            _or_faults(faults, lambda: check_judge(judge, None if loaded is None else [loaded]))
            raise InputError(faults)
        return cls(
            loaded,
            tuple(read),
            tuple(places),
            judge,
            concurrency,
            ungated,
            missing,
            template,
            tuple(_source(each, loaded, rubric) for each in found) if apart else (),
            tuple(skipped or ()),
            (*twice, *([clash] if clash else [])),
        )

    async def run(self, on_grade: Callable[[int, Grade], None], executor: Elsewhere | None = None) -> None:
        """Grade all; `on_grade` gets the place in the list and the grade as each is done.

        Args:
            on_grade: Called for each.
            executor: Who grades; None for this process.

        Raises:
            InputError: Somebody can't be asked and would have to be; nothing was graded or written.
        """
        collect_seldom()
        provider = default_provider()
        named = Judges(self.judge)
        judges = await admitted(named, self.rubric, self.trajectories, provider, here=executor is None)
        async with judges:
            try:
                await agrade_all(
                    self.trajectories,
                    self.rubric,
                    judge=judges,
                    provider=provider,
                    template=self.template,
                    ungated=self.ungated,
                    concurrency=self.concurrency,
                    on_grade=on_grade,
                    executor=executor,
                )
            finally:
                if self.missing is not None:
                    write_verdicts(self.missing, judges.unanswered.values())

    def place(self, index: int) -> str:
        """The name of the folder that one trajectory came from; empty for one of many in a file."""
        folder = self.trajectories[index].folder
        return folder.name if folder is not None else ""

    def write(self, index: int, grade: Grade) -> str | None:
        """Write the grade of one trajectory to its place, and say where; None when none are kept."""
        if not self.places:
            return None
        place = self.places[index]
        if self.sources:
            place.write(sources_name(grade.rubric), self.sources[index].to_json().encode())
        return place.write_grade(grade)


def _source(found: Found, rubric: Rubric, file: Path) -> Sources:
    """Where a trajectory and the rubric lie, for who looks at a grade that is kept apart from them."""
    return Sources(
        trajectory=Source(path=str(found.path.absolute()), hash=found.trajectory.hash),
        rubric=Source(path=str(rubric_file(file).absolute()), hash=rubric.hash),
        vars=rubric.model_dump(mode="json")["vars"],
    )


def _or_faults(faults: list[Fault], load: Callable[[], T]) -> T | None:
    try:
        return load()
    except InputError as error:
        faults += error.faults
        return None
