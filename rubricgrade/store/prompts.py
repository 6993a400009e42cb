"""What judges were sent, by hash: each text is kept once and compressed, since many questions share a long record."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from rubricgrade import digest
from rubricgrade.errors import StoreError


class Prompts:
    """The prompts that belong to a verdict cache, in a folder beside its file. Safe with several processes.

    Args:
        cache: The cache's file.
    """

    def __init__(self, cache: Path) -> None:
        self.folder = cache.with_suffix(".prompts")

    def keep(self, prompt: str, texts: Sequence[str]) -> None:
        """Keep a prompt; one that is there already stays.

        Args:
            prompt: Its hash, as in `JudgeRecord.prompt`.
            texts: Its messages, in order.

        Raises:
            StoreError: It can't be written.
        """
        if self._place(prompt).exists():
            return
        parts = [digest.of_bytes(text.encode()) for text in texts]
        try:
            for part, text in zip(parts, texts, strict=True):
                if not self._place(part).exists():
                    self._write(part, zlib.compress(text.encode()))
            # Last, so that whoever finds a prompt finds all of it.
            self._write(prompt, json.dumps(parts).encode())
        except OSError as error:
            raise StoreError(f"can't keep a prompt in {self.folder}: {error.strerror or error}") from error

    def find(self, prompt: str) -> tuple[str, ...] | None:
        """The messages of a prompt; None if it is not here.

        Raises:
            StoreError: It can't be read, or is damaged.
        """
        try:
            parts = json.loads(self._place(prompt).read_bytes())
            texts = [zlib.decompress(self._place(part).read_bytes()) for part in parts]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, zlib.error) as error:
            raise StoreError(f"can't read the prompt {prompt} in {self.folder}: {error}") from error
        if [digest.of_bytes(text) for text in texts] != parts:
            raise StoreError(f"the prompt {prompt} in {self.folder} is damaged")
        return tuple(text.decode() for text in texts)

    def clear(self) -> None:
        """Forget every prompt.

        Raises:
            StoreError: The folder can't be removed.
        """
        try:
            if self.folder.exists():
                shutil.rmtree(self.folder)
        except OSError as error:
            raise StoreError(f"can't remove {self.folder}: {error.strerror or error}") from error

    def _place(self, name: str) -> Path:
        # A hash of ours, or (from a grade file that somebody else wrote) anything: then it names nothing.
        safe = digest.of_bytes(name.encode())[-64:]
        return self.folder / safe[:2] / safe[2:]

    def _write(self, name: str, data: bytes) -> None:
        place = self._place(name)
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, part = tempfile.mkstemp(dir=place.parent, prefix=".")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(part).replace(place)
        except BaseException:
            Path(part).unlink(missing_ok=True)
            raise
