"""What one request holds for as long as anybody works with it: a share of the room, and a folder for its files.

The folder is made on first need.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from rubricgrade import tree
from rubricgrade.server.room import Share


class Scratch:
    """Held by the request, by what reads it, and by each of its episodes until work on it has really ended.

    Args:
        share: Given back at the end.
        root: The server's own folder.
        removing: Gets what is under way of the removal, for as long as it is.

    Attributes:
        share: Its bytes.
        unpacked: Bytes of the files that were unpacked into it.
    """

    def __init__(self, share: Share, root: Path, removing: set[asyncio.Future[None]]) -> None:
        self.share = share
        self.unpacked = 0
        self._root = root
        self._removing = removing
        self._folder: Path | None = None
        self._holders = 0

    def path(self, name: str) -> Path:
        """A place in the folder, where nothing is yet."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(dir=self._root))
        return self._folder / name

    def __enter__(self) -> Self:
        self.hold()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def hold(self) -> None:
        """One more works with it."""
        self._holders += 1

    def release(self) -> None:
        """One less does."""
        self._holders -= 1
        if self._holders:
            return
        self.share.close()
        if self._folder is not None:
            # An agent's tree may be large; other requests need not wait while it goes.
            removal = asyncio.get_running_loop().run_in_executor(None, tree.remove, self._folder)
            self._removing.add(removal)
            removal.add_done_callback(self._removing.discard)
            self._folder = None
