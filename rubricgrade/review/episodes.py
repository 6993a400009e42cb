"""The episodes of a folder with their grades: what there is to review."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rubricgrade.errors import Fault, InputError, TrajectoryError
from rubricgrade.readers import load_trajectory
from rubricgrade.result import CriterionResult, Grade
from rubricgrade.review.items import Item, items_of, results_of
from rubricgrade.review.rubrics import find_rubrics
from rubricgrade.rubric import Rubric
from rubricgrade.runs.manifest import FILE as MANIFEST
from rubricgrade.store.grades import grade_files, graded_folders, read_grade
from rubricgrade.trajectory import Trajectory


@dataclass(frozen=True)
class Episode:
    """One graded episode.

    Attributes:
        key: Its folder, relative to the one that is reviewed; names it in labels.
        run: The run that it is part of, by its folder likewise; empty if that is the folder itself.
        folder: Where its grades and records lie.
        files: Its grade files, oldest first.
        grade: The latest of them.
        rubric: What it was graded with.
        elsewhere: The trajectory, if it does not lie in the folder.
    """

    key: str
    run: str
    folder: Path
    files: tuple[Path, ...]
    grade: Grade
    rubric: Rubric
    elsewhere: Trajectory | None = None

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """What people can decide, in the rubric's order. Nothing in it comes from a judge."""
        return tuple(items_of(self.key, self.grade, self.rubric))

    @cached_property
    def results(self) -> Mapping[str, CriterionResult]:
        """What the judge said, by the criterion of an item."""
        return results_of(self.grade)

    def trajectory(self) -> Trajectory:
        """What the agent did.

        Raises:
            TrajectoryError: It is not there, can't be read, or is another one than was graded.
        """
        found = self.elsewhere or load_trajectory(self.folder)
        if found.hash != self.grade.trajectory.hash:
            raise TrajectoryError(
                Fault("is not what was graded: it has changed since; grade it again", str(self.folder))
            )
        return found


def find_episodes(
    top: Path, *, rubrics: Sequence[Path] = (), trajectories: Sequence[Trajectory] = ()
) -> tuple[Episode, ...]:
    """Every graded episode at or below a folder.

    Args:
        top: A run, an episode's folder, or any folder of such.
        rubrics: Rubric files, for grades whose rubric is not found by itself.
        trajectories: For grades that were written apart from their trajectories.

    Raises:
        InputError: There is no grade, or a rubric is missing.
        StoreError: A grade can't be read.
    """
    if not top.is_dir():
        raise InputError(Fault("no such folder", str(top)))
    found = [
        (folder, files, read_grade(files[-1]))
        for folder in graded_folders(top)
        if (files := tuple(grade_files(folder)))
    ]
    if not found:
        raise InputError(
            Fault("no grade in this folder, nor in any below it; `rubricgrade grade` makes some", str(top))
        )
    known = find_rubrics(top, [grade for _, _, grade in found], rubrics)
    by_hash = {trajectory.hash: trajectory for trajectory in trajectories}
    return tuple(
        Episode(
            key=_relative(folder, top) or folder.resolve().name,
            run=_run_of(folder, top),
            folder=folder,
            files=files,
            grade=grade,
            rubric=known[grade.rubric.hash],
            elsewhere=by_hash.get(grade.trajectory.hash),
        )
        for folder, files, grade in found
    )


def _relative(folder: Path, top: Path) -> str:
    return "" if folder == top else folder.relative_to(top).as_posix()


def _run_of(folder: Path, top: Path) -> str:
    between = [place for place in folder.parents if place.is_relative_to(top)]
    return next((_relative(place, top) for place in between if (place / MANIFEST).is_file()), "")
