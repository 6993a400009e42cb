"""What was concluded from cached votes, so that the same conclusion need not be drawn again."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

# Keys are random: kept in their order, each line would go to a page of its own, at twice the cost and size.
CONCLUSIONS = "CREATE TABLE IF NOT EXISTS conclusions (key TEXT PRIMARY KEY, line TEXT NOT NULL);"


def keep_conclusions(connection: sqlite3.Connection, conclusions: Mapping[str, str]) -> None:
    """Keep conclusions by key; one that is there already stays. Raises `sqlite3.Error`."""
    connection.executemany("INSERT OR IGNORE INTO conclusions VALUES (?, ?)", conclusions.items())


def find_conclusion(connection: sqlite3.Connection, key: str) -> str | None:
    """A conclusion, or None. Raises `sqlite3.Error`."""
    row = connection.execute("SELECT line FROM conclusions WHERE key = ?", (key,)).fetchone()
    return None if row is None else str(row[0])
