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
from rubricgrade.store.grades import graded_folders, latest_grade, write_grade


@dataclass(frozen=True, slots=True)
class LocalPlace:
    """See `contract.Place`.

    Attributes:
        folder: Where it is.
    """

    folder: Path

    def __str__(self) -> str:
        return str(self.folder)

    @property
    def name(self) -> str:
        """See `contract.Place`."""
        return self.folder.resolve().name

    def below(self, path: str) -> LocalPlace:
        """See `contract.Place`."""
        return LocalPlace(self.folder / path)

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
            self.folder.mkdir(parents=True, exist_ok=True)
            replace_file(self.folder / name, data)
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
        with _locked(folder) as ours:
            yield LocalClaim(folder, self.folder / FILE) if ours else None

    @contextmanager
    def episode(self) -> Generator[Path]:
        """See `contract.Place`: where it lies."""
        yield self.folder

    def write_grade(self, grade: Grade) -> str:
        """See `contract.Place`."""
        return str(write_grade(grade, self.folder))

    def grades(self, paths: Sequence[str]) -> list[Grade | None]:
        """See `contract.Place`."""
        return [latest_grade(self.folder / path) for path in paths]

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


@dataclass(frozen=True, slots=True)
class LocalClaim:
    """See `contract.Claim`: the files are where they belong already."""

    folder: Path
    file: Path

    def keep(self, line: Line) -> Line | None:
        """See `contract.Claim`."""
        return line if append(self.file, line) else None


@contextmanager
def _locked(folder: Path) -> Generator[bool]:
    """Hold a folder for this process; the value says whether it is ours. A crash gives it back."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
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
