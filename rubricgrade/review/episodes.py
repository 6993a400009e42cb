"""The episodes of a folder with their grades: what there is to review."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rubricgrade.errors import Fault, InputError, TrajectoryError
from rubricgrade.readers import load_trajectory
from rubricgrade.result import CriterionResult, Grade
from rubricgrade.review.items import Item, items_of, results_of
from rubricgrade.review.rubrics import find_rubrics
from rubricgrade.review.trajectories import find_elsewhere, holds_trajectory
from rubricgrade.rubric import Rubric
from rubricgrade.runs.manifest import FILE as MANIFEST
from rubricgrade.store.grades import grade_files, graded_folders, read_grade
from rubricgrade.store.sources import read_sources
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
    top: Path,
    *,
    rubrics: Sequence[Path] = (),
    variables: Mapping[str, Any] | Path | None = None,
    trajectories: Sequence[Trajectory] = (),
) -> tuple[Episode, ...]:
    """Every graded episode at or below a folder.

    Args:
        top: A run, an episode's folder, or any folder of such.
        rubrics: Rubric files, for grades whose rubric is not found by itself.
        variables: Values for the variables of these.
        trajectories: For grades that were written apart from their trajectories.

    Raises:
        InputError: There is no grade, or a rubric is missing.
        StoreError: A grade, or the note of where it came from, can't be read.
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
    grades = [grade for _, _, grade in found]
    sources = [each for folder, _, _ in found for each in read_sources(folder)]
    known = find_rubrics(top, grades, rubrics, sources, variables=variables)
    apart = [grade for folder, _, grade in found if not holds_trajectory(folder)]
    by_hash = find_elsewhere(apart, trajectories, sources)
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


def require_trajectories(episodes: Sequence[Episode]) -> None:
    """Find out before the first page is opened, not on it, that there is nothing to show.

    Raises:
        InputError: Trajectories are missing; says where they lay.
        StoreError: The note of where they lay can't be read.
    """
    missing = [each for each in episodes if each.elsewhere is None and not holds_trajectory(each.folder)]
    if not missing:
        return
    first = missing[0]
    lay = next(
        (
            f", and {each.trajectory.path}, where it lay, is gone or has changed since"
            for each in read_sources(first.folder)
            if each.trajectory.hash == first.grade.trajectory.hash
        ),
        "",
    )
    others = f" (one of {len(missing)} such episodes)" if len(missing) > 1 else ""
    message = f"holds no trajectory beside its grades{others}{lay}; name what was graded: --episodes FILE"
    raise InputError(Fault(message, str(first.folder)))


def _relative(folder: Path, top: Path) -> str:
    return "" if folder == top else folder.relative_to(top).as_posix()


def _run_of(folder: Path, top: Path) -> str:
    between = [place for place in folder.parents if place.is_relative_to(top)]
    return next((_relative(place, top) for place in between if (place / MANIFEST).is_file()), "")
