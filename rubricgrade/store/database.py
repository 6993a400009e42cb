"""One SQLite file that several threads and processes share: opened on first use, and again after a fork."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Generator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from rubricgrade.errors import StoreError

_WAIT = 30.0
"""Seconds for other processes' writes. Dozens that write at once wait for two, on a quick disk."""
_SHORT = 0.5
"""The same after a wait for nothing: what holds the file so long is no write, and may never end."""


@dataclass(slots=True)
class _Link:
    """A connection that one thread uses at a time."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    connection: sqlite3.Connection | None = None
    wait: float = field(default_factory=lambda: _WAIT)

    def be_patient(self, seconds: float) -> None:
        """Wait that long for others from now on."""
        if seconds != self.wait:
            self.wait = seconds
            if self.connection is not None:
                self.connection.execute(f"PRAGMA busy_timeout={round(1000 * seconds)}")


class Database:
    """A file with tables, in SQLite's WAL mode: who looks something up waits for nobody who writes.

    Args:
        path: The file; it and its folder are made when they are missing.
        tables: Statements that make what is not there yet.
        name: What it is called in errors.
    """

    def __init__(self, path: Path, tables: str, name: str) -> None:
        self.path = path
        self._tables = tables
        self._name = name
        self._process = os.getpid()
        self._reader, self._writer = _Link(), _Link()
        self._inherited: list[_Link] = []

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """A connection for a block that is carried out whole or not at all.

        Raises:
            StoreError: On entering or leaving: the file can't be read or written, or is something else.
        """
        self._after_fork()
        return self._linked(self._writer)

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """A connection for a block that only reads, and sees what was written whole before.

        Raises:
            StoreError: On entering or leaving: the file can't be read, or is something else.
        """
        self._after_fork()
        return self._linked(self._reader)

    def close(self) -> None:
        """Close the file; it is opened again if it is needed."""
        self._after_fork()
        for link in (self._reader, self._writer):
            with link.lock:
                if link.connection is not None:
                    link.connection.close()
                link.connection = None

    @contextmanager
    def _linked(self, link: _Link) -> Generator[sqlite3.Connection]:
        with link.lock:
            try:
                if link.connection is None:
                    link.connection = self._connect(link.wait)
                with link.connection:
                    yield link.connection
                link.be_patient(_WAIT)
            except (sqlite3.Error, OSError) as error:
                if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
                    link.be_patient(_SHORT)
                raise StoreError(f"{self._name} {self.path}: {error}") from error

    def _after_fork(self) -> None:
        """In a new process: locks that nobody holds, connections of its own. The parent's must not be closed."""
        if self._process != os.getpid():
            self._inherited += (self._reader, self._writer)
            self._process, self._reader, self._writer = os.getpid(), _Link(), _Link()

    def _connect(self, wait: float) -> sqlite3.Connection:
        if not self.path.exists():
            self._create()
        connection = sqlite3.connect(self.path, timeout=wait, check_same_thread=False)
        try:
            connection.execute("PRAGMA synchronous=NORMAL")
            # Keys are looked up once each: pages that were read are of little use again.
            connection.execute("PRAGMA cache_size=-256")
            connection.executescript(self._tables)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _create(self) -> None:
        """Make the file whole under another name: SQLite does not wait while a file is turned to WAL by somebody."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with TemporaryDirectory(dir=self.path.parent, prefix=".new-") as folder:
            part = Path(folder) / self.path.name
            with closing(sqlite3.connect(part)) as connection:
                # The tables first: a log in WAL mode is moved into the file when it is closed, and if the disk is full
                # then, SQLite says nothing.
                connection.executescript(self._tables)
                connection.execute("PRAGMA journal_mode=WAL")
            with suppress(FileExistsError):
                self.path.hardlink_to(part)
