"""``sqlite``: the first value of the first row of a query on a SQLite file, read-only and on a copy."""

from __future__ import annotations

import re
import sqlite3
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from rubricgrade.checks.inside.case import AuthorFault, BadArtifact, Case, CheckResult, Seen
from rubricgrade.checks.inside.expect import judged

STEPS_BETWEEN_LOOKS = 100_000
LONGEST_VALUE = 10_000_000
NO_FUNCTION = re.compile(r"no such function: (\w+)")


def check(case: Case, spec: Mapping[str, Any]) -> CheckResult:
    """Met when the value is as expected (or there at all, and not null)."""
    path, query = spec["path"], spec["query"]
    data = case.read_bytes(path)
    _understood(query)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy.db")
        copy.write_bytes(data)
        try:
            # Sooner than the host's own limit, so that the message says what took so long.
            found = _first(copy, query, 0.8 * case.timeout)
        except (sqlite3.Error, sqlite3.Warning, MemoryError) as error:
            if _calls_nothing(query, str(error)):
                raise AuthorFault(f"the query {query!r} can't be run: {error}") from None
            raise BadArtifact(path, f"the query fails: {error}") from None
        except UnicodeDecodeError:
            raise BadArtifact(path, "the query finds a text that is no UTF-8") from None
    if found is None:
        message = f"{path}: the query gives no row"
        return CheckResult(value=False, evidence=[Seen(message, path)], message=message)
    value = found[0]
    shown = value.hex() if isinstance(value, bytes) else value
    return judged(case, spec, shown, name=query, where=path)


def _first(file: Path, query: str, seconds: float) -> tuple[Any, ...] | None:
    end = time.monotonic() + seconds
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro&immutable=1", uri=True)) as database:
        database.text_factory = bytes.decode
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        # The schema is the agent's: no function with side effects may be called from its views.
        database.execute("PRAGMA trusted_schema = OFF")
        database.execute("PRAGMA query_only = ON")
        database.set_progress_handler(lambda: time.monotonic() > end, STEPS_BETWEEN_LOOKS)
        return database.execute(query).fetchone()


def _calls_nothing(query: str, complaint: str) -> bool:
    """Whether a complaint is about a function that the query itself calls, and not a view of the agent's."""
    unknown = NO_FUNCTION.fullmatch(complaint)
    if unknown is None or not re.search(rf"\b{re.escape(unknown[1])}\s*\(", query, re.IGNORECASE):
        return False
    with closing(sqlite3.connect(":memory:")) as empty:
        try:
            empty.execute(f"SELECT {unknown[1]}()")
        except sqlite3.Error as error:
            return str(error) == complaint  # a keyword such as IN is another complaint
    return False


def _understood(query: str) -> None:
    """Raise `AuthorFault` for a query that no database would take: that is not the agent's doing."""
    with closing(sqlite3.connect(":memory:")) as empty:
        try:
            empty.execute(f"EXPLAIN {query}")
        except (sqlite3.Error, sqlite3.Warning) as error:
            text = str(error)
            if not text.startswith(("no such", "ambiguous")):
                raise AuthorFault(f"the query {query!r} can't be read: {text}") from None
