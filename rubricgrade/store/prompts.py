"""What judges were sent, by hash: each text is kept once and compressed, since many questions share a long record."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping

import zstandard

from rubricgrade import digest
from rubricgrade.errors import StoreError

TABLES = """
CREATE TABLE IF NOT EXISTS prompts (hash TEXT PRIMARY KEY, texts TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS texts (hash TEXT PRIMARY KEY, packed BLOB NOT NULL);
"""

Prompt = Mapping[str, str]
"""The texts of a prompt's messages in order, each by its own hash."""


def keep_prompts(connection: sqlite3.Connection, prompts: Mapping[str, Prompt], kept: Collection[str]) -> set[str]:
    """Keep prompts by hash; a prompt or text that is there already stays.

    Args:
        connection: In a transaction.
        prompts: By hash.
        kept: Hashes of texts that are there already.

    Returns:
        The hashes of all other texts: they are there once the transaction is done.

    Raises:
        sqlite3.Error: The file can't be written.
    """
    texts = {name: text for prompt in prompts.values() for name, text in prompt.items() if name not in kept}
    pack = zstandard.ZstdCompressor(level=1).compress
    connection.executemany(
        "INSERT OR IGNORE INTO texts VALUES (?, ?)",
        [(name, pack(text.encode())) for name, text in texts.items()],
    )
    connection.executemany(
        "INSERT OR IGNORE INTO prompts VALUES (?, ?)",
        [(name, json.dumps(list(prompt))) for name, prompt in prompts.items()],
    )
    return set(texts)


def find_prompt(connection: sqlite3.Connection, name: str) -> tuple[str, ...] | None:
    """The texts of a prompt; None if it is not here.

    Raises:
        StoreError: It is damaged.
        sqlite3.Error: The file is.
    """
    row = connection.execute("SELECT texts FROM prompts WHERE hash = ?", (name,)).fetchone()
    if row is None:
        return None
    try:
        return tuple(_text(connection, part) for part in json.loads(row[0]))
    except (ValueError, TypeError, zstandard.ZstdError) as error:
        raise StoreError(f"the prompt {name} in the verdict cache is damaged: {error}") from error


def _text(connection: sqlite3.Connection, name: str) -> str:
    row = connection.execute("SELECT packed FROM texts WHERE hash = ?", (name,)).fetchone()
    if row is None:
        raise ValueError("a text of it is missing")
    data = zstandard.ZstdDecompressor().decompress(row[0])
    if digest.of_bytes(data) != name:
        raise ValueError("a text of it was changed")
    return data.decode()
