"""The trajectories of grades that are kept apart from them, found again by their hash."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rubricgrade.errors import TrajectoryError
from rubricgrade.readers import load_trajectories
from rubricgrade.readers.episode import trajectory_file
from rubricgrade.result import Grade
from rubricgrade.store.sources import Sources
from rubricgrade.trajectory import Trajectory


def holds_trajectory(folder: Path) -> bool:
    """Whether an episode's folder holds its trajectory; whether it is the right one shows when it is read."""
    try:
        return trajectory_file(folder).is_file()
    except TrajectoryError:
        return False


def find_elsewhere(
    grades: Sequence[Grade], given: Sequence[Trajectory], sources: Sequence[Sources]
) -> dict[str, Trajectory]:
    """Trajectories by hash.

    Args:
        grades: Whose trajectories do not lie beside them.
        given: Those that the caller names.
        sources: What the grades' folders say about where they lay. A file is read once, and only if it is needed;
            what is not there, or is another one by now, is left out.
    """
    found = {trajectory.hash: trajectory for trajectory in given}
    wanted = {grade.trajectory.hash for grade in grades} - found.keys()
    for path in dict.fromkeys(each.trajectory.path for each in sources if each.trajectory.hash in wanted):
        found |= {each.hash: each for each in _read(Path(path)) if each.hash in wanted}
    return found


def _read(path: Path) -> list[Trajectory]:
    # The note came with the folder: it may name a pipe, which would never end.
    if not (path.is_file() or path.is_dir()):
        return []
    try:
        return load_trajectories(path, strict=False)
    except TrajectoryError:
        return []
