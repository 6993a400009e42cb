"""Sealed files: what lies beside a rubric and decides its grades. Read whole, once, and never through a link."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from rubricgrade.errors import Fault
from rubricgrade.loading import codes
from rubricgrade.loading.document import Document
from rubricgrade.loading.references import Reference

FOLDERS = ("checks", "sealed")
"""Everything in these folders is sealed, named or not: a check may import or open it."""

JUNK = frozenset({"__pycache__", ".DS_Store", "Thumbs.db"})
"""Left behind by running or looking at a rubric; they must not change its hash."""

MAX_FILE = 32 << 20
MAX_TOTAL = 128 << 20
MAX_FILES = 10_000


class _Refused(Exception):
    """A file that can't be sealed, in words."""


def read_sealed(
    folder: Path | None, named: Iterable[Reference], document: Document
) -> tuple[dict[str, bytes], list[Fault]]:
    """The bytes of all sealed files by path, and a fault for each that can't be had."""
    found: dict[str, bytes] = {}
    faults: list[Fault] = []
    for reference in named:
        if reference.path not in found:
            try:
                found[reference.path] = _read(folder, reference.path)
            except _Refused as reason:
                faults.append(document.fault(reference.place, f"{reference.path!r} {reason}", codes.FILE))
    for path in _beside(folder) if folder is not None else ():
        if path not in found and not faults:
            try:
                found[path] = _read(folder, path)
            except _Refused as reason:
                faults.append(Fault(f"{path!r} {reason}", document.file, code=codes.FILE))
    total = sum(len(data) for data in found.values())
    if total > MAX_TOTAL or len(found) > MAX_FILES:
        message = f"{len(found)} sealed files of {total >> 20} MiB; at most {MAX_FILES} of {MAX_TOTAL >> 20} MiB"
        faults.append(Fault(message, document.file, code=codes.FILE))
    return dict(sorted(found.items())), faults


def missing(folder: Path | None, named: Iterable[Reference], document: Document) -> list[Fault]:
    """A fault for each named file or folder that is not there."""
    faults: list[Fault] = []
    for reference in named:
        try:
            _inside(folder, reference.path)
        except _Refused as reason:
            faults.append(document.fault(reference.place, f"{reference.path!r} {reason}", codes.FILE))
    return faults


def _read(folder: Path | None, path: str) -> bytes:
    place = _inside(folder, path)
    if not stat.S_ISREG(place.lstat().st_mode):
        raise _Refused("is no regular file")
    try:
        with place.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        raise _Refused(f"can't be read: {error.strerror}") from None
    if len(data) > MAX_FILE:
        raise _Refused(f"is larger than {MAX_FILE >> 20} MiB")
    return data


def _inside(folder: Path | None, path: str) -> Path:
    """Where a named file lies; refuses what is absolute, leads out, is not there, or goes through a link."""
    if "\\" in path or "\0" in path:
        raise _Refused("is no path: write it with '/'")
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts:
        raise _Refused("leads out of the rubric's folder; sealed files lie in it")
    if str(pure) != path or path == ".":
        raise _Refused(f"is written as {str(pure)!r}")
    if folder is None:
        raise _Refused("can't be found: this rubric was not read from a folder")
    place = folder
    for part in pure.parts:
        place /= part
        try:
            mode = place.lstat().st_mode
        except OSError as error:
            raise _Refused(f"is not there: {error.strerror} (looked in {folder})") from None
        if stat.S_ISLNK(mode):
            raise _Refused(f"goes through a symbolic link ({place.name}); sealed files are plain files")
    return place


def _beside(folder: Path) -> Iterator[str]:
    for name in FOLDERS:
        top = folder / name
        if top.is_symlink():
            yield name
        for at, folders, files in os.walk(top):
            folders[:] = sorted(set(folders) - JUNK)
            for file in sorted([*files, *(each for each in folders if (Path(at) / each).is_symlink())]):
                if file not in JUNK and not file.endswith(".pyc"):
                    yield (Path(at) / file).relative_to(folder).as_posix()
