"""One SQLite file that several threads and processes share: opened on first use, and again after a fork."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from rubricgrade.errors import StoreError

_WAIT = 30.0  # seconds for another process's write


class Database:
    """A file with tables, in SQLite's WAL mode.

    Args:
        path: The file; it and its folder are made when they are missing.
        tables: Statements that make what is not there yet.
        name: What it is called in errors.
    """

    def __init__(self, path: Path, tables: str, name: str) -> None:
        self.path = path
        self._tables = tables
        self._name = name
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._connection: sqlite3.Connection | None = None
        self._inherited: list[sqlite3.Connection | None] = []

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """A connection for a block that is carried out whole or not at all.

        Raises:
            StoreError: The file can't be read or written, or is something else.
        """
        self._after_fork()
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._connect()
                with self._connection:
                    yield self._connection
            except (sqlite3.Error, OSError) as error:
                raise StoreError(f"{self._name} {self.path}: {error}") from error

    def close(self) -> None:
        """Close the file; it is opened again if it is needed."""
        self._after_fork()
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _after_fork(self) -> None:
        """In a new process: a lock that nobody holds, and a connection of its own. The parent's must not be closed."""
        if self._process != os.getpid():
            self._inherited.append(self._connection)
            self._process, self._lock, self._connection = os.getpid(), threading.Lock(), None

    def _connect(self) -> sqlite3.Connection:
        if not self.path.exists():
            self._create()
        connection = sqlite3.connect(self.path, timeout=_WAIT, check_same_thread=False)
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.executescript(self._tables)
        return connection

    def _create(self) -> None:
        """Make the file whole under another name: SQLite does not wait while a file is turned to WAL by somebody."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with TemporaryDirectory(dir=self.path.parent, prefix=".new-") as folder:
            part = Path(folder) / self.path.name
            connection = sqlite3.connect(part)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.executescript(self._tables)
            connection.close()
            with suppress(FileExistsError):
                self.path.hardlink_to(part)
