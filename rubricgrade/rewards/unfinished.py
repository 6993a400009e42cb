"""The grade of an episode that was asked for and not finished: no score, every score still possible, and why."""

from __future__ import annotations

import platform
from datetime import UTC, datetime

from rubricgrade.result import Cause, Grade, Subject
from rubricgrade.trajectory import Trajectory
from rubricgrade.version import __version__


def unfinished(trajectory: Trajectory, rubric: Subject, cause: Cause, message: str) -> Grade:
    """An ungraded grade with bounds of 0 and 1 and no results; its last warning is the message.

    Args:
        trajectory: What was to be graded.
        rubric: With what; its hash is empty where only the name is known.
        cause: Why it was not finished.
        message: One sentence on it, for people.
    """
    return Grade(
        status="ungraded",
        score=None,
        bounds=(0.0, 1.0),
        cause=cause,
        causes=(cause,),
        rubric=rubric,
        trajectory=Subject(id=trajectory.id, hash=trajectory.hash),
        warnings=(*map(str, trajectory.warnings), f"{cause}: {message}"),
        created=datetime.now(UTC).isoformat(timespec="milliseconds"),
        versions={"rubricgrade": __version__, "python": platform.python_version()},
    )
