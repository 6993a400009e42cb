"""An episode on disk: which file holds its trajectory, and where its workspace and its world lie.

All of it may have been written by an agent, so nothing outside the folder is reached: no symbolic links, no ``..``.
"""

from __future__ import annotations

import stat
from pathlib import Path, PurePosixPath
from typing import Any

from rubricgrade.errors import Fault, TrajectoryError
from rubricgrade.readers.native import places_of
from rubricgrade.trajectory import Trajectory
from rubricgrade.trajectory import Warning as Remark

FILE = "trajectory.json"
ARCHIVE = ".tar.zst"
WORKSPACES = ("workspace", f"workspace{ARCHIVE}")


def trajectory_file(path: Path) -> Path:
    """The file that holds a trajectory: the path itself, or the ``trajectory.json`` of an episode or a Harbor trial.

    Raises:
        TrajectoryError: There is none.
    """
    if not path.is_dir():
        return path
    files = [file for name in (FILE, f"agent/{FILE}") if (file := inside(path, name)) is not None and file.is_file()]
    if not files:
        raise TrajectoryError(Fault(f"holds no {FILE}; name a trajectory file or an episode's folder", str(path)))
    return files[0]


def located(trajectory: Trajectory, file: Path, value: Any) -> Trajectory:
    """The trajectory of a file that holds no other, told where its files lie.

    Args:
        trajectory: As it was read.
        file: Where it was read from.
        value: The file's JSON value: our own format may name a workspace and a world.

    Raises:
        TrajectoryError: It names a place that is not there, or not inside the folder.
    """
    folder = file.parent
    named = {key: _named(folder, file, key, place) for key, place in places_of(value).items()}
    workspace, world = named.get("workspace"), named.get("world")
    if file.name != FILE:
        return trajectory.located(workspace=workspace, world=world) if named else trajectory
    found = [place for place in (inside(folder, name) for name in WORKSPACES) if place is not None and _fits(place)]
    if workspace is None and len(found) > 1:
        message = f"both {' and '.join(WORKSPACES)} lie beside the file; the folder was taken"
        remark = Remark(place="", message=message, code="workspace")
        trajectory = trajectory.model_copy(update={"warnings": (*trajectory.warnings, remark)})
    usual_world = inside(folder, "world")
    return trajectory.located(
        folder=folder,
        workspace=workspace or next(iter(found), None),
        world=world or (usual_world if usual_world is not None and usual_world.is_dir() else None),
    )


def inside(folder: Path, name: str) -> Path | None:
    """A path below the folder that leads through no symbolic link; None when nothing is there.

    Raises:
        TrajectoryError: The name leaves the folder, or leads through a symbolic link.
    """
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\0" in name:
        raise TrajectoryError(
            Fault(f"{name!r} leads out of the folder; name a path inside it", str(folder), code="TR005")
        )
    place = folder
    for part in parts:
        place = place / part
        try:
            mode = place.lstat().st_mode
        except OSError:
            return None
        if stat.S_ISLNK(mode):
            raise TrajectoryError(Fault("is a symbolic link, which is never followed", str(place), code="TR005"))
    return place


def _named(folder: Path, file: Path, key: str, name: Any) -> Path:
    place = inside(folder, name) if isinstance(name, str) else None
    if place is None or not (place.is_dir() if key == "world" else _fits(place)):
        wanted = "a folder" if key == "world" else f"a folder or a {ARCHIVE} file"
        raise TrajectoryError(
            Fault(f"{key}: there is no {name!r} beside the file; it is {wanted}", str(file), code="TR005")
        )
    return place


def _fits(place: Path) -> bool:
    return place.is_dir() or (place.is_file() and place.name.endswith(ARCHIVE))
