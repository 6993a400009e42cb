"""Grade files: immutable, written whole or not at all, beside the trajectory in `grades/`."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rubricgrade.errors import StoreError
from rubricgrade.misfits import first_misfit
from rubricgrade.readers.episode import FILE as TRAJECTORY
from rubricgrade.result import Grade, Subject
from rubricgrade.store.folders import opened_below

FOLDER = "grades"
NAME = re.compile(r"(?P<stem>.+)-(?P<number>\d+)\.json\Z")


def write_grade(grade: Grade, folder: str | os.PathLike[str], *, top: str | os.PathLike[str] | None = None) -> Path:
    """Write a grade into ``folder/grades/<rubric>.<hash>-<judge>-<n>.json``, with the next free n from 1.

    The file appears whole, under a name that nobody else has: several processes may write at once.

    Args:
        grade: The grade.
        folder: The episode's, or one for its grades.
        top: The folder at or above `folder` that somebody has named: no link below it is followed. Default: `folder`.

    Returns:
        The file's path.

    Raises:
        StoreError: It could not be written; nothing is left behind.
    """
    home = Path(folder) / FOLDER
    named = Path(folder if top is None else top)
    try:
        place, new = opened_below(named, home.relative_to(named).parts)
        try:
            return home / _write(grade.to_json().encode(), place, grade_stem(grade), new=new)
        finally:
            os.close(place)
    except OSError as error:
        raise StoreError(f"can't write a grade into {home}: {error.strerror or error}") from error


def _write(data: bytes, place: int, stem: str, *, new: bool) -> str:
    # Every call of the system here lets other threads run and waits for its turn again: where a judge keeps the program
    # busy, that is most of what a grade file costs.
    # A file without a name: if we are killed before it has one, nothing is left of it.
    file = os.open(".", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o644, dir_fd=place)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]
        # Data and size are all that matters of a file that gets its name afterwards, and cost a fifth of a whole sync.
        os.fdatasync(file)
        number = 0 if new else max((_number(name, stem) for name in os.listdir(place)), default=0)
        while True:
            number += 1
            name = f"{stem}-{number}.json"
            try:
                # Unlike a rename, a link fails if somebody else has taken the name.
                os.link(f"/proc/self/fd/{file}", name, dst_dir_fd=place, follow_symlinks=True)
            except FileExistsError:
                continue
            return name
    finally:
        os.close(file)


def read_grade(path: str | os.PathLike[str]) -> Grade:
    """Read a grade file.

    Raises:
        StoreError: It is not there, or it is no grade of this format; the message says where and why.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise StoreError(f"can't read {path}: {error.strerror or error}") from error
    return parse_grade(data, str(path))


def parse_grade(data: bytes, name: str) -> Grade:
    """The grade in the bytes of a grade file; `name` is for the error.

    Raises:
        StoreError: They are no grade of this format; the message says where and why.
    """
    try:
        return Grade.model_validate_json(data)
    except ValidationError as error:
        raise StoreError(f"{name} is no grade file: {first_misfit(error)}") from None


def grade_files(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """The grade files of an episode folder, oldest first. Regular files only."""
    home = Path(folder) / FOLDER
    if not home.is_dir():
        return
    found = [(path.lstat(), path) for path in home.iterdir() if NAME.match(path.name) and path.name[0] != "."]
    # Whoever sent the folder may have put anything there: a pipe would never end.
    regular = [(facts.st_mtime_ns, path) for facts, path in found if stat.S_ISREG(facts.st_mode)]
    if len(regular) > 1:
        # Copying a folder gives its files new times, in any order.
        regular.sort(key=lambda each: (_created(each[1]), each[0], _number(each[1].name, "")))
    yield from (path for _, path in regular)


def _created(path: Path) -> str:
    """When a grade says that it was made. Of what is no grade: later than all, so that it is looked at and told of."""
    try:
        grade: Any = json.loads(path.read_bytes())
        return datetime.fromisoformat(grade["created"]).astimezone(UTC).isoformat()
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return "no grade"


def latest_grade(folder: str | os.PathLike[str], rubric_hash: str | None = None) -> Grade | None:
    """The current grade of an episode folder: the last one written (for one rubric, if its hash is given)."""
    for path in reversed(list(grade_files(folder))):
        grade = read_grade(path)
        if rubric_hash is None or grade.rubric.hash == rubric_hash:
            return grade
    return None


def graded_folders(top: Path) -> Iterator[Path]:
    """Folders with a trajectory or grades, by name. Nothing below one is looked at: it may be the agent's. No links."""
    for folder, children, files in os.walk(top):
        children.sort()
        if TRAJECTORY in files or FOLDER in children:
            children.clear()
            yield Path(folder)


def grade_stem(grade: Grade) -> str:
    """What the names of its files begin with: the rubric, its hash, and the judge."""
    judge = re.sub(r"[^\w.-]+", "_", grade.judge.id)[:60] if grade.judge else "code"
    return f"{rubric_stem(grade.rubric)}-{judge}"


def rubric_stem(rubric: Subject) -> str:
    """A rubric in the name of a file: its id and its hash, both cut."""
    return f"{rubric.id[:60]}.{rubric.hash.removeprefix('sha256:')[:8]}"


def _number(name: str, stem: str) -> int:
    match = NAME.match(name)
    return int(match["number"]) if match and (not stem or match["stem"] == stem) else 0
