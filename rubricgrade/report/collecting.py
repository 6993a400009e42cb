"""The grades of a run or of any folder: the current one of every episode, with the name of its folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rubricgrade.errors import Fault, InputError, StoreError
from rubricgrade.result import Grade
from rubricgrade.runs.places import Place, Where, place_of
from rubricgrade.runs.places.local import LocalPlace
from rubricgrade.store.grades import FOLDER, read_grade

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
        if isinstance(place, LocalPlace) and place.folder.is_file():
            grade = read_grade(place.folder)
            return Collected(place.name, (Entry(grade.trajectory.id, grade),))
        paths = _paths(place)
        found = _collected(place, zip(paths, place.grades(paths), strict=True))
    except StoreError as error:
        raise InputError(Fault(str(error), str(place))) from error
    if not found.entries:
        raise InputError(Fault("no grade in this folder; `rubricgrade grade` makes some", str(place)))
    return found


def collect_replaced(where: Where) -> Collected:
    """As `collect`, but of each episode the grade that its current one has replaced.

    That is the last one by another rubric or another judge; where all are by the same, the one before.

    Raises:
        InputError: A file of grades can't be read, or no episode was graded twice.
    """
    place = place_of(where)
    try:
        if isinstance(place, LocalPlace) and place.folder.is_file():
            raise InputError(Fault("is one grade: name another one to compare it with", str(place)))
        found = _collected(place, ((path, _replaced(place.history(path))) for path in _paths(place)))
    except StoreError as error:
        raise InputError(Fault(str(error), str(place))) from error
    if not found.entries:
        raise InputError(Fault("no episode in it was graded twice: name what to compare it with", str(place)))
    return found


def _paths(place: Place) -> list[str]:
    if not isinstance(place, LocalPlace):
        return place.graded()
    if not place.folder.exists():
        raise InputError(Fault("no such file or folder", str(place)))
    return [folder.relative_to(place.folder).as_posix() for folder in _episodes(place.folder)]


def _collected(place: Place, found: Iterable[tuple[str, Grade | None]]) -> Collected:
    graded = list(found)
    entries = tuple(Entry(path if path != "." else grade.trajectory.id, grade) for path, grade in graded if grade)
    return Collected(place.name, entries, tuple(path for path, grade in graded if grade is None))


def _replaced(history: Sequence[Grade]) -> Grade | None:
    if not history:
        return None
    *earlier, now = history
    another = [each for each in earlier if _made_by(each) != _made_by(now)]
    return (another or earlier or [None])[-1]


def _made_by(grade: Grade) -> tuple[str, str | None]:
    return grade.rubric.hash, grade.judge.hash if grade.judge else None


def _episodes(top: Path) -> Iterator[Path]:
    for folder, children, files in os.walk(top):
        children.sort()
        here = Path(folder)
        graded = FOLDER in children and not (here / FOLDER).is_symlink()
        if graded or EPISODE in files:
            children.clear()
            if graded or not (here / FOLDER).is_symlink():
                yield here
