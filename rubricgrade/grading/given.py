"""What a caller gives to be graded, and to grade with: objects, or where they lie."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

from rubricgrade.errors import InputError
from rubricgrade.loading import load_rubric
from rubricgrade.readers import load_trajectory
from rubricgrade.rubric import Rubric
from rubricgrade.trajectory import Trajectory

Location = str | PathLike[str]


def the_rubric(given: Rubric | Location, values: Mapping[str, Any] | None) -> Rubric:
    """A rubric, read if need be with values for its vars.

    Raises:
        RubricError: It can't be used.
        InputError: It is neither.
    """
    if not isinstance(given, Rubric) and not _is_place(given):
        raise InputError(f"rubric must be a Rubric or a path, not {type(given).__name__}")
    return given if isinstance(given, Rubric) else load_rubric(given, vars=values)


def the_trajectory(given: Trajectory | Location) -> Trajectory:
    """A trajectory, read if need be.

    Raises:
        TrajectoryError: It can't be used.
    """
    return given if isinstance(given, Trajectory) else load_trajectory(given)


def the_trajectories(given: Iterable[Trajectory | Location]) -> list[Trajectory]:
    """Several trajectories, read if need be.

    Raises:
        TrajectoryError: One can't be used.
        InputError: It is one, and no list: a path would be taken apart into its letters.
    """
    if not _is_list(given):
        told = "one trajectory" if isinstance(given, Trajectory) else f"{given!r:.200}"
        raise InputError(f"trajectories must be a list of trajectories or of paths, not {told}; pass [it] for one")
    return [the_trajectory(each) for each in given]


def _is_place(given: object) -> bool:
    return isinstance(given, str | PathLike)


def _is_list(given: object) -> bool:
    return isinstance(given, Iterable) and not isinstance(given, Trajectory | str | PathLike | Mapping)
