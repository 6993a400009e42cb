"""The trajectories that arguments name, and the folders that their grades belong in. All faults are found first."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from rubricgrade.errors import Fault, InputError, TrajectoryError
from rubricgrade.readers import load_trajectories, load_trajectory
from rubricgrade.trajectory import Trajectory

FILE = "trajectory.json"
NAME_LENGTH = 120


def find_trajectories(paths: Sequence[Path]) -> list[Trajectory]:
    """Every trajectory of some files, episode folders, or folders of episode folders.

    Raises:
        TrajectoryError: With the faults of all of them.
    """
    found: list[Trajectory] = []
    faults: list[Fault] = []
    for path in paths:
        try:
            found += _load(path)
        except TrajectoryError as error:
            faults += error.faults
    if faults:
        raise TrajectoryError(faults)
    return found


def _load(path: Path) -> list[Trajectory]:
    if not path.is_dir():
        return load_trajectories(path)
    episodes = list(episode_folders(path))
    if not episodes:
        raise TrajectoryError(Fault(f"no {FILE} in this folder, nor in any folder below it", file=str(path)))
    return [load_trajectory(episode) for episode in episodes]


def episode_folders(top: Path) -> Iterator[Path]:
    """The folders with a trajectory, in the order of their names; nothing below one is looked at.

    An episode's workspace is the agent's: what lies in there is never taken for an episode. Links are not followed.
    """
    for folder, children, files in os.walk(top):
        children.sort()
        if FILE in files:
            children.clear()
            yield Path(folder)


def grade_folders(trajectories: Sequence[Trajectory], output: Path | None) -> list[Path]:
    """The folder of each trajectory's grades (they go into ``grades/`` in it).

    Args:
        trajectories: In the order of the result.
        output: Where to put a folder for each, named after its id; None puts grades beside the trajectories.

    Raises:
        InputError: A trajectory has no folder of its own, or grades can't be written there.
    """
    if output is not None:
        check_writable(output)
        return [output / name for name in _names(trajectories)]
    folders: list[Path] = []
    faults: list[Fault] = []
    for trajectory in trajectories:
        if trajectory.folder is None:
            faults.append(Fault(f"trajectory {trajectory.id!r} has no folder of its own"))
        elif not os.access(trajectory.folder, os.W_OK):
            faults.append(Fault("can't be written to", file=str(trajectory.folder)))
        else:
            folders.append(trajectory.folder)
    if faults:
        raise InputError([*faults, Fault("say where grades go with -o DIR, or keep none with --no-store")])
    return folders


def check_writable(folder: Path) -> None:
    """Find out now whether a folder can be made and written to, not when there is something to write.

    Raises:
        InputError: It can't.
    """
    place = next(place for place in (folder, *folder.parents) if place.exists())
    if not place.is_dir():
        raise InputError(Fault("is no folder", str(place)))
    if not os.access(place, os.W_OK):
        raise InputError(Fault("can't be written to", str(place)))


def _names(trajectories: Sequence[Trajectory]) -> Iterator[str]:
    names = [_file_name(trajectory.id) for trajectory in trajectories]
    often = Counter(names)
    for name, trajectory in zip(names, trajectories, strict=True):
        yield name if often[name] == 1 else f"{name}.{_short(trajectory)}"


def _file_name(name: str) -> str:
    """A hostile id as the name of one folder: no separator, no leading dot, not too long."""
    safe = quote(name, safe=" +=@,", errors="backslashreplace")
    safe = re.sub(r"^\.", "%2E", safe)
    return safe if len(safe) <= NAME_LENGTH else safe[:NAME_LENGTH].rstrip("%")


def _short(trajectory: Trajectory) -> str:
    return trajectory.hash.removeprefix("sha256:")[:8]
