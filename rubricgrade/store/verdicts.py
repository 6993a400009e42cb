"""Verdicts that need not be asked again: an SQLite cache, and JSONL files of recorded verdicts.

The cache knows an answer by everything that went into asking for it. A recorded verdict knows its question alone, so
that it outlives a change of model or prompt, and says who gave it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rubricgrade import twice
from rubricgrade.errors import Fault, InputError, StoreError
from rubricgrade.store.batching import Batching
from rubricgrade.store.conclusions import CONCLUSIONS, find_conclusion, keep_conclusions
from rubricgrade.store.database import Database
from rubricgrade.store.prompts import TABLES, Prompt, find_prompt, keep_prompts

SCHEMA = "rubricgrade.verdict/1"
RECORDED = "verdicts.jsonl"
"""What a file of recorded verdicts is called that lies with the rubric that it is for."""
_REMEMBERED = 10_000  # hashes of texts that need not be written again
_TABLES = f"""
CREATE TABLE IF NOT EXISTS verdicts (
    key TEXT PRIMARY KEY, question TEXT NOT NULL, model TEXT NOT NULL, vote INTEGER NOT NULL, line TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, text TEXT NOT NULL);
{TABLES}
{CONCLUSIONS}
"""


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True, validate_by_name=True)


class RecordedQuote(_Line):
    """A quote of a recorded verdict; looked up like any other."""

    quote: str
    where: str | None = None


class Verdict(_Line):
    """One line of a file of recorded verdicts, and what the cache holds.

    Attributes:
        question: Hash of what was asked.
        rubric: The rubric's id, for people.
        criterion: The criterion's id, for people.
        asked: The criterion's wording, for people.
        item: Of a `for_each`.
        trajectory: The trajectory's id, for people.
        answer: ``yes``, ``no``, ``cannot_tell`` or a choice of the scale; None in a skeleton, which decides nothing.
        reasoning: Why.
        evidence: Quotes.
        recorded_by: ``hand: NAME`` or a model.
        recorded_at: ISO 8601.
        key: The cache's key, if it comes from one.
        prompt: Hash of the prompt that was sent, where several questions shared one.
        served: The model that answered, as its provider names it.
        vote: Which of several votes it was, from 0.
        reply: The model's reply as it came.
    """

    schema_: Literal["rubricgrade.verdict/1"] = Field(default=SCHEMA, alias="schema")
    question: str
    rubric: str = ""
    criterion: str = ""
    asked: str = ""
    item: str | None = None
    trajectory: str = ""
    answer: str | None = None
    reasoning: str = ""
    evidence: tuple[RecordedQuote, ...] = ()
    recorded_by: str = ""
    recorded_at: str = ""
    key: str | None = None
    prompt: str = ""
    served: str = ""
    vote: int = 0
    reply: str = ""

    def to_line(self) -> str:
        """Its JSON, with a newline; what is empty is left out, but for what a skeleton wants filled in."""
        facts = self.model_dump(mode="json")
        wanted = ("schema", "question", "answer", *(("reasoning", "evidence", "recorded_by") if self.open else ()))
        kept = {name: value for name, value in facts.items() if value or name in wanted}
        return json.dumps(kept, ensure_ascii=False) + "\n"

    @property
    def open(self) -> bool:
        """Whether it is a skeleton, still to be filled in."""
        return self.answer is None

    @property
    def of_vote(self) -> tuple[object, ...]:
        """Which vote it is: a judge casts each once. The same question asked with other settings is another key."""
        return self.question, self.recorded_by, self.vote, self.key

    def says_the_same_as(self, other: Verdict) -> bool:
        """Whether two records of a vote agree in all that decides anything or is shown for a reason."""
        return (self.answer, self.reasoning, self.evidence) == (other.answer, other.reasoning, other.evidence)


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
    """The user's own cache file, below ``$XDG_CACHE_HOME`` or ``~/.cache``. Never in a folder that an agent writes to.

    Raises:
        StoreError: The user has no home.
    """
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
        with self._database.transaction() as connection:
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
            connection.executemany("INSERT OR IGNORE INTO verdicts VALUES (?, ?, ?, ?, ?)", rows)
            texts = keep_prompts(connection, prompts, self._texts) if prompts else set[str]()
            for part in parts:
                keep_conclusions(connection, part.conclusions)
        # Only now: what was not written must be written the next time.
        self._texts = texts if len(self._texts) > _REMEMBERED else self._texts | texts

    async def keep_soon(self, kept: Kept) -> None:
        """`keep`, without holding up the event loop, and in one transaction with what others keep at the same time.

        Raises:
            StoreError: The file can't be written; nothing was.
        """
        await self._batching.put(kept, self._keep_all)

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
        with self._database.transaction() as connection:
            return find_conclusion(connection, key)

    def prompt(self, name: str) -> tuple[str, ...] | None:
        """The messages of a prompt by its hash, as in `JudgeRecord.prompt`; None if it is not here.

        Raises:
            StoreError: The file can't be read, or the prompt is damaged.
        """
        with self._database.transaction() as connection:
            return find_prompt(connection, name)

    def reply(self, key: str) -> str | None:
        """A reply that led to a verdict without being one, such as the choice of what to show; None if there is none.

        Raises:
            StoreError: The file can't be read.
        """
        with self._database.transaction() as connection:
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
        with self._database.transaction() as connection:
            rows = connection.execute("SELECT line FROM verdicts ORDER BY question, model, vote, key").fetchall()
        write_verdicts(path, [self._verdict(row[0]) for row in rows])
        return len(rows)

    def load(self, path: Path) -> int:
        """Take in a JSONL file that `export` wrote. Lines without a key, such as those by hand, are passed over.

        Returns:
            How many were taken.

        Raises:
            InputError: The file is no such file.
            StoreError: The cache can't be written.
        """
        keyed = [verdict for verdict in read_verdicts(path) if verdict.key and verdict.answer]
        self.keep(Kept(keyed))
        return len(keyed)

    def info(self) -> CacheInfo:
        """What is in it.

        Raises:
            StoreError: The file can't be read.
        """
        with self._database.transaction() as connection:
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

    def _verdict(self, line: str) -> Verdict:
        try:
            return Verdict.model_validate_json(line)
        except ValidationError as error:
            raise StoreError(f"verdict cache {self.path}: an entry is no verdict") from error


def read_verdicts(path: Path) -> tuple[Verdict, ...]:
    """All lines of a file of recorded verdicts, skeletons included.

    Raises:
        InputError: The file can't be read, a line is no verdict, or two lines say different things for one vote (by
            the same judge on the same question); every such line is named.
    """
    try:
        facts = path.stat()
        return _read(path, facts.st_mtime_ns, facts.st_size)
    except OSError as error:
        raise InputError(Fault(f"can't read recorded verdicts: {error.strerror or error}", str(path))) from error


@lru_cache(maxsize=32)
def _read(path: Path, _changed: int, _size: int) -> tuple[Verdict, ...]:
    verdicts: list[Verdict] = []
    faults: list[Fault] = []
    votes: dict[tuple[object, ...], tuple[int, Verdict]] = {}
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            verdict = Verdict.model_validate_json(line)
            json.loads(line, object_pairs_hook=twice.unique)
        except twice.KeyTwice:
            key = twice.find(line.decode()).key
            faults.append(Fault(f"the key {key!r} stands twice; keep one of them", str(path), number))
            continue
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(key) for key in first["loc"])
            faults.append(Fault(f"no recorded verdict: {place or 'line'}: {first['msg']}", str(path), number))
            continue
        if not verdict.open and not verdict.recorded_by:
            faults.append(Fault("a recorded verdict says who gave it ('recorded_by')", str(path), number))
        if not verdict.open:
            first, other = votes.setdefault(verdict.of_vote, (number, verdict))
            if not verdict.says_the_same_as(other):
                faults.append(Fault(_contradiction(first, other, verdict), str(path), number))
        verdicts.append(verdict)
    if faults:
        raise InputError(faults)
    return tuple(verdicts)


def beside(rubric: Path) -> tuple[Path, ...]:
    """The recorded verdicts that lie with a rubric's file, if any do.

    The commands and the reward server take them where nobody is asked and no others are named; `grade` of Python takes
    the files that `JudgeOptions.verdicts` names and no others.
    """
    file = rubric.parent / RECORDED
    return (file,) if file.is_file() else ()


def _contradiction(number: int, one: Verdict, other: Verdict) -> str:
    differ = f"{one.answer!r} there, {other.answer!r} here"
    what = differ if one.answer != other.answer else "with other reasons or quotes"
    return (
        f"line {number} records another verdict by {other.recorded_by!r} on the same question ({what}): "
        "keep one of the two lines"
    )


def write_verdicts(path: Path, verdicts: Iterable[Verdict]) -> None:
    """Write a file of recorded verdicts, or of skeletons to be filled in; whole or not at all.

    Raises:
        StoreError: It can't be written.
    """
    text = "".join(verdict.to_line() for verdict in verdicts)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise StoreError(f"can't write {path}: {error.strerror or error}") from error
