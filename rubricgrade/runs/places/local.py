"""A run in a folder on this machine: written atomically, appended to by many processes, claimed by a lock."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rubricgrade.errors import Fault, InputError, StoreError
from rubricgrade.readers.native import replace_file
from rubricgrade.result import Grade
from rubricgrade.runs.lines import FILE, Line, append, read_lines
from rubricgrade.store.folders import opened_below
from rubricgrade.store.grades import FOLDER, grade_files, graded_folders, latest_grade, read_grade, write_grade


@dataclass(frozen=True, slots=True)
class LocalPlace:
    """See `contract.Place`.

    Attributes:
        folder: Where it is.
        named: The folder at or above it that somebody has named, below which no link is followed; None: `folder`.
    """

    folder: Path
    named: Path | None = None

    def __str__(self) -> str:
        return str(self.folder)

    @property
    def name(self) -> str:
        """See `contract.Place`."""
        return self.folder.resolve().name

    def below(self, path: str) -> LocalPlace:
        """See `contract.Place`."""
        return LocalPlace(self.folder / path, self._named)

    def read(self, name: str) -> bytes | None:
        """See `contract.Place`."""
        try:
            return (self.folder / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StoreError(f"can't read {self.folder / name}: {error.strerror or error}") from error

    def write(self, name: str, data: bytes) -> None:
        """See `contract.Place`."""
        try:
            with self._opened() as folder:
                replace_file(folder / name, data)
        except OSError as error:
            raise StoreError(f"can't write into {self.folder}: {error.strerror or error}") from error

    def lines(self) -> list[Line]:
        """See `contract.Place`."""
        return read_lines(self.folder / FILE)

    def has(self, task: str, sample: int) -> bool:
        """See `contract.Place`."""
        return any(line.key == (task, sample) for line in self.lines())

    @contextmanager
    def claim(self, task: str, sample: int) -> Generator[LocalClaim | None]:
        """See `contract.Place`. The lock on the attempt's folder is held by whoever makes it."""
        folder = self.folder / task / str(sample)
        with _locked(folder, self._named) as ours:
            yield LocalClaim(folder, self.folder / FILE) if ours else None

    @contextmanager
    def episode(self) -> Generator[Path]:
        """See `contract.Place`: where it lies."""
        yield self.folder

    def write_grade(self, grade: Grade) -> str:
        """See `contract.Place`."""
        return str(write_grade(grade, self.folder, top=self._named))

    def grades(self, paths: Sequence[str]) -> list[Grade | None]:
        """See `contract.Place`."""
        return [latest_grade(self.folder / path) for path in paths]

    def history(self, path: str) -> list[Grade]:
        """See `contract.Place`."""
        return [read_grade(file) for file in grade_files(self.folder / path)]

    def graded(self) -> list[str]:
        """See `contract.Place`."""
        return [folder.relative_to(self.folder).as_posix() for folder in graded_folders(self.folder)]

    def check_writable(self) -> None:
        """See `contract.Place`."""
        place = next(place for place in (self.folder, *self.folder.parents) if place.exists())
        if not place.is_dir():
            raise InputError(Fault("is no folder", str(place)))
        if not os.access(place, os.W_OK):
            raise InputError(Fault("can't be written to", str(place)))
        at = self._named
        for name in (*self.folder.relative_to(at).parts, FOLDER):
            at /= name
            if at.is_symlink():
                raise InputError(Fault("is a link, and none is followed to where grades go: remove it", str(at)))

    @property
    def _named(self) -> Path:
        return self.folder if self.named is None else self.named

    @contextmanager
    def _opened(self) -> Generator[Path]:
        """A path of the folder, made if need be, that leads there whatever links come to be on the way to it."""
        parts = self.folder.relative_to(self._named).parts
        if not parts:
            self.folder.mkdir(parents=True, exist_ok=True)
            yield self.folder
            return
        handle, _ = opened_below(self._named, parts)
        try:
            yield Path(f"/proc/self/fd/{handle}")
        finally:
            os.close(handle)


@dataclass(frozen=True, slots=True)
class LocalClaim:
    """See `contract.Claim`: the files are where they belong already."""

    folder: Path
    file: Path

    def keep(self, line: Line) -> Line | None:
        """See `contract.Claim`."""
        return line if append(self.file, line) else None


@contextmanager
def _locked(folder: Path, named: Path) -> Generator[bool]:
    """Hold a folder for this process; the value says whether it is ours. A crash gives it back."""
    try:
        handle, _ = opened_below(named, folder.relative_to(named).parts)
    except OSError as error:
        raise StoreError(f"can't write into {folder}: {error.strerror or error}") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)
