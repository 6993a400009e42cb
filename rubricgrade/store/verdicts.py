"""The verdict cache: answers that need not be asked for again, known by everything that went into asking for them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self

from pydantic import ValidationError

from rubricgrade.errors import StoreError
from rubricgrade.store.batching import Batching
from rubricgrade.store.conclusions import CONCLUSIONS, find_conclusion, keep_conclusions
from rubricgrade.store.database import Database
from rubricgrade.store.prompts import TABLES, Prompt, find_prompt, keep_prompts
from rubricgrade.store.recorded import Verdict, read_verdicts, write_verdicts

_NAMED = 200  # characters of a file's name
_REMEMBERED = 10_000  # hashes of texts that need not be written again
_TABLES = f"""
CREATE TABLE IF NOT EXISTS verdicts (
    key TEXT PRIMARY KEY, question TEXT NOT NULL, model TEXT NOT NULL, vote INTEGER NOT NULL, line TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, text TEXT NOT NULL);
{TABLES}
{CONCLUSIONS}
"""


@dataclass(frozen=True, slots=True)
class Kept:
    """What one grade has to keep: votes, what they were asked with, by hash, and what was concluded, by key."""

    verdicts: Sequence[Verdict] = ()
    prompts: Mapping[str, Prompt] = field(default_factory=dict[str, Prompt])
    conclusions: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What a cache holds.

    Attributes:
        path: Its file.
        entries: Verdicts.
        bytes: Size on disk.
        models: Verdicts by model.
    """

    path: Path
    entries: int
    bytes: int
    models: Mapping[str, int]


def default_cache() -> Path:
    """``$RUBRICGRADE_CACHE``, else the user's own file below ``$XDG_CACHE_HOME`` or ``~/.cache``.

    Never in a folder that an agent writes to.

    Raises:
        StoreError: The user has no home.
    """
    if own := os.environ.get("RUBRICGRADE_CACHE"):
        return Path(own)
    named = os.environ.get("XDG_CACHE_HOME", "")
    try:
        base = Path(named) if Path(named).is_absolute() else Path.home() / ".cache"
    except RuntimeError as error:
        raise StoreError(f"no folder for the verdict cache: {error}; set XDG_CACHE_HOME") from error
    return base / "rubricgrade" / "verdicts.sqlite"


class VerdictCache:
    """Verdicts by key, what their prompts were, and replies on the way to them. Safe with threads and processes."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path if path is not None else default_cache()
        self._database = Database(self.path, _TABLES, "verdict cache")
        self._texts: set[str] = set()
        self._version: int | None = None
        self._batching: Batching[Kept] = Batching()

    @classmethod
    def of(cls, cache: Path | Literal[False] | None) -> Self | None:
        """The cache that an option names: a file, None for the user's own, False for none."""
        return None if cache is False else cls(cache)

    def get(self, key: str) -> Verdict | None:
        """The verdict, or None.

        Raises:
            StoreError: The file can't be read, or holds something else.
        """
        with self._database.reading() as connection:
            row = connection.execute("SELECT line FROM verdicts WHERE key = ?", (key,)).fetchone()
        return None if row is None else self._verdict(row[0])

    def put(self, verdict: Verdict) -> None:
        """Keep a verdict that has a key and an answer; one that is there already stays.

        Raises:
            StoreError: The file can't be written.
        """
        self.keep(Kept([verdict]))

    def keep(self, *parts: Kept) -> None:
        """Keep verdicts, as `put` does, and all else, in one transaction.

        Raises:
            StoreError: The file can't be written; nothing was.
        """
        verdicts = [verdict for part in parts for verdict in part.verdicts]
        rows = [(each.key, each.question, each.recorded_by, each.vote, each.model_dump_json()) for each in verdicts]
        prompts = {name: prompt for part in parts for name, prompt in part.prompts.items()}
        with self._database.transaction() as connection:
            # Another process may have cleared the file; it tells who has written since, but not what.
            version = int(connection.execute("PRAGMA data_version").fetchone()[0])
            if version != self._version:
                self._texts, self._version = set(), version
            connection.executemany("INSERT OR IGNORE INTO verdicts VALUES (?, ?, ?, ?, ?)", rows)
            texts = keep_prompts(connection, prompts, self._texts) if prompts else set[str]()
            for part in parts:
                keep_conclusions(connection, part.conclusions)
        # Only now: what was not written must be written the next time.
        self._texts = texts if len(self._texts) > _REMEMBERED else self._texts | texts

    def keep_soon(self, kept: Kept) -> asyncio.Future[Exception | None]:
        """`keep`, without holding up the event loop, in one transaction with what others keep at about the same time.

        Returns:
            What went wrong, a `StoreError` or a defect; None if nothing did. It is kept also if nobody waits for that.
        """
        return self._batching.put(kept, self._keep_all)

    def _keep_all(self, parts: Sequence[Kept]) -> list[StoreError | None]:
        try:
            self.keep(*parts)
        except StoreError as error:
            return [StoreError(str(error)) for _ in parts]
        return [None] * len(parts)

    def conclusion(self, key: str) -> str | None:
        """What was concluded before, as it was kept; None if nothing was.

        Raises:
            StoreError: The file can't be read.
        """
        with self._database.reading() as connection:
            return find_conclusion(connection, key)

    def prompt(self, name: str) -> tuple[str, ...] | None:
        """The messages of a prompt by its hash, as in `JudgeRecord.prompt`; None if it is not here.

        Raises:
            StoreError: The file can't be read, or the prompt is damaged.
        """
        with self._database.reading() as connection:
            return find_prompt(connection, name)

    def reply(self, key: str) -> str | None:
        """A reply that led to a verdict without being one, such as the choice of what to show; None if there is none.

        Raises:
            StoreError: The file can't be read.
        """
        with self._database.reading() as connection:
            row = connection.execute("SELECT text FROM replies WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def keep_reply(self, key: str, text: str) -> None:
        """Keep such a reply; one that is there already stays.

        Raises:
            StoreError: The file can't be written.
        """
        with self._database.transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO replies VALUES (?, ?)", (key, text))

    def export(self, path: Path) -> int:
        """Write all verdicts to a JSONL file, in a fixed order; each line is a recorded verdict too.

        Returns:
            How many.

        Raises:
            StoreError: A file can't be read or written.
        """
        with self._database.reading() as connection:
            rows = connection.execute("SELECT line FROM verdicts ORDER BY question, model, vote, key").fetchall()
        write_verdicts(path, [self._verdict(row[0]) for row in rows])
        return len(rows)

    def load(self, path: Path) -> int:
        """Take in a JSONL file that `export` wrote. Lines without a key, such as those by hand, are passed over.

        Nobody can tell whether a model ever gave them, so each keeps the file's name, which every grade shows.

        Returns:
            How many were taken.

        Raises:
            InputError: The file is no such file.
            StoreError: The cache can't be written.
        """
        imported = {"imported": ascii(path.name)[1:-1][:_NAMED]}
        read = read_verdicts(path)
        keyed = [verdict.model_copy(update=imported) for verdict in read if verdict.key and verdict.answer]
        self.keep(Kept(keyed))
        return len(keyed)

    def info(self) -> CacheInfo:
        """What is in it.

        Raises:
            StoreError: The file can't be read.
        """
        with self._database.reading() as connection:
            rows = connection.execute("SELECT model, count(*) FROM verdicts GROUP BY model ORDER BY model").fetchall()
        models = {str(model): int(count) for model, count in rows}
        return CacheInfo(self.path, sum(models.values()), self.path.stat().st_size, models)

    def clear(self) -> int:
        """Forget everything, prompts and replies too.

        Returns:
            How many verdicts there were.

        Raises:
            StoreError: The file can't be written.
        """
        with self._database.transaction() as connection:
            self._texts = set()
            for table in ("prompts", "texts", "replies", "conclusions"):
                connection.execute(f"DELETE FROM {table}")  # noqa: S608 - names of our own
            return connection.execute("DELETE FROM verdicts").rowcount

    def close(self) -> None:
        """Close the file; it is opened again if it is needed."""
        self._database.close()
        self._version = None

    def _verdict(self, line: str) -> Verdict:
        try:
            return Verdict.model_validate_json(line)
        except ValidationError as error:
            raise StoreError(f"verdict cache {self.path}: an entry is no verdict") from error
