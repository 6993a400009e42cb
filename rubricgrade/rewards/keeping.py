"""Keeping an episode that was graded for a host, with its grade, so that reviewers can look at it later."""

from __future__ import annotations

import logging
from pathlib import Path

from rubricgrade.errors import RubricgradeError
from rubricgrade.readers import write_trajectory
from rubricgrade.result import Grade
from rubricgrade.store.grades import write_grade
from rubricgrade.trajectory import Trajectory

LOG = logging.getLogger("rubricgrade.rewards")


def keep(grade: Grade, trajectory: Trajectory, folder: Path) -> None:
    """Write ``trajectory.json`` and the grade into a folder; a full disk costs the record, not the reward."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_trajectory(trajectory, folder / "trajectory.json")
        write_grade(grade, folder)
    except (RubricgradeError, OSError) as error:
        LOG.warning("a grade could not be kept: %s", error)
