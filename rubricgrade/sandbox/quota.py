"""The limit on what a sandbox keeps on disk: a watch, since no unprivileged quota exists for an ordinary folder.

A place in memory needs none of this: there the kernel refuses what is too much.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

PERIOD = 0.2
"""Seconds between two looks, at least; a fast writer gets this far past the limit."""
SHARE = 0.05
"""Part of the time that may go into looking."""
BLOCK = 512


def usage(folders: Iterable[Path | int]) -> tuple[int, int]:
    """Bytes and files in use below some folders, links not followed. What vanishes meanwhile does not count."""
    size = count = 0
    stack: list[str | Path | int] = list(folders)
    while stack:
        try:
            with os.scandir(stack.pop()) as items:
                for item in items:
                    status = item.stat(follow_symlinks=False)
                    size += status.st_blocks * BLOCK
                    count += 1
                    if item.is_dir(follow_symlinks=False):
                        stack.append(item.path)
        except OSError:
            continue
    return size, count


class Watch:
    """Calls `purge` whenever the folders hold more than they may.

    Attributes:
        purges: How often that was.
    """

    def __init__(self, folders: tuple[Path, ...], size: int, files: int, purge: Callable[[], object]) -> None:
        """Start watching.

        Args:
            folders: What to add up.
            size: Bytes that it may hold.
            files: Files that it may hold.
            purge: Ends every process that could write there.
        """
        self.purges = 0
        self._folders = folders
        self._size = size
        self._files = files
        self._purge = purge
        self._stop = threading.Event()
        threading.Thread(target=self._run, name="sandbox disk limit", daemon=True).start()

    def stop(self) -> None:
        """Watch no longer."""
        self._stop.set()

    def _run(self) -> None:
        pause = PERIOD
        while not self._stop.wait(pause):
            began = time.monotonic()
            size, files = usage(self._folders)
            if size > self._size or files > self._files:
                self.purges += 1
                self._purge()
            pause = max(PERIOD, (time.monotonic() - began) / SHARE)
