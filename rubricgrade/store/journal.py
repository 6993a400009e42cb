"""Files of JSON lines that several processes append to: a line is whole or not there, whoever else is writing."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from rubricgrade.errors import StoreError

BLOCK = 1 << 16


class Journal:
    """A file that nobody else writes to while this exists. Made by `opened`."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._mend()

    def content(self) -> bytes:
        """All of its lines."""
        os.lseek(self._handle, 0, os.SEEK_SET)
        return b"".join(iter(lambda: os.read(self._handle, BLOCK), b""))

    def add(self, lines: bytes) -> None:
        """Add whole lines; they are on the disk when this returns."""
        os.lseek(self._handle, 0, os.SEEK_END)
        view = memoryview(lines)
        while view:
            view = view[os.write(self._handle, view) :]
        os.fsync(self._handle)

    def _mend(self) -> None:
        """Remove a last line that was torn by a crash."""
        content = self.content()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.ftruncate(self._handle, whole)


@contextmanager
def opened(file: Path) -> Generator[Journal]:
    """The file, made if it is missing, for this process alone while the context lasts. No link is followed to it.

    Raises:
        StoreError: It can't be read or written.
    """
    try:
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
        try:
            _require_file(handle, file)
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield Journal(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"can't write {file}: {error.strerror or error}") from error


def whole_lines(file: Path) -> list[bytes]:
    """All whole lines of a file, without a torn last one; none if there is no such file. No link is followed to it.

    Raises:
        StoreError: It can't be read.
    """
    try:
        handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            _require_file(handle, file)
            content = b"".join(iter(lambda: os.read(handle, BLOCK), b""))
        finally:
            os.close(handle)
    except FileNotFoundError:
        return []
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"can't read {file}: {error.strerror or error}") from error
    return content[: content.rfind(b"\n") + 1].splitlines()


def _require_file(handle: int, file: Path) -> None:
    """A folder holds no lines, and a pipe in its place would be waited for without end."""
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        raise StoreError(f"{file} is no file")
