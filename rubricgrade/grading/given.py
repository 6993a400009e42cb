"""What a caller gives to be graded, and to grade with: objects, or where they lie."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from rubricgrade.loading import load_rubric
from rubricgrade.readers import load_trajectory
from rubricgrade.rubric import Rubric
from rubricgrade.trajectory import Trajectory

Location = str | PathLike[str]


def the_rubric(given: Rubric | Location, values: Mapping[str, Any] | None) -> Rubric:
    """A rubric, read if need be with values for its vars.

    Raises:
        RubricError: It can't be used.
    """
    return given if isinstance(given, Rubric) else load_rubric(given, vars=values)


def the_trajectory(given: Trajectory | Location) -> Trajectory:
    """A trajectory, read if need be.

    Raises:
        TrajectoryError: It can't be used.
    """
    return given if isinstance(given, Trajectory) else load_trajectory(Path(given))
