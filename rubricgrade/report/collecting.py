"""The grades of a run or of any folder: the current one of every episode, with the name of its folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rubricgrade.errors import Fault, InputError, StoreError
from rubricgrade.result import Grade
from rubricgrade.runs.places import Where, place_of
from rubricgrade.runs.places.local import LocalPlace
from rubricgrade.store.grades import FOLDER, latest_grade, read_grade

EPISODE = "trajectory.json"


@dataclass(frozen=True, slots=True)
class Entry:
    """One graded episode.

    Attributes:
        name: Its folder, relative to what was asked for; for a single grade file the trajectory's id.
        grade: Its current grade: the last that was written.
    """

    name: str
    grade: Grade


@dataclass(frozen=True, slots=True)
class Collected:
    """What a place holds.

    Attributes:
        name: Of the place.
        entries: By folder.
        without: Names of episodes that have no grade.
    """

    name: str
    entries: tuple[Entry, ...]
    without: tuple[str, ...] = ()


def collect(where: Where) -> Collected:
    """Read the grades of a grade file, an episode's folder, a run's (or its URL), or a folder of any of these.

    What lies below an episode is the agent's, and is never taken for a grade. Links are not followed.

    Raises:
        InputError: There is no grade, or a file is none.
    """
    place = place_of(where)
    try:
        if not isinstance(place, LocalPlace):
            paths = place.graded()
            found = list(zip(paths, place.grades(paths), strict=True))
        elif not place.folder.exists():
            raise InputError(Fault("no such file or folder", str(place)))
        elif place.folder.is_file():
            grade = read_grade(place.folder)
            return Collected(place.name, (Entry(grade.trajectory.id, grade),))
        else:
            top = place.folder
            found = [(folder.relative_to(top).as_posix(), latest_grade(folder)) for folder in _episodes(top)]
    except StoreError as error:
        raise InputError(Fault(str(error), str(place))) from error
    entries = tuple(Entry(name if name != "." else grade.trajectory.id, grade) for name, grade in found if grade)
    if not entries:
        raise InputError(Fault("no grade in this folder; `rubricgrade grade` makes some", str(place)))
    return Collected(place.name, entries, tuple(name for name, grade in found if grade is None))


def _episodes(top: Path) -> Iterator[Path]:
    for folder, children, files in os.walk(top):
        children.sort()
        here = Path(folder)
        graded = FOLDER in children and not (here / FOLDER).is_symlink()
        if graded or EPISODE in files:
            children.clear()
            if graded or not (here / FOLDER).is_symlink():
                yield here
