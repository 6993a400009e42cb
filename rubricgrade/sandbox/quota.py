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
SPARE, SPARE_FILES = 1 << 20, 16
"""Bytes and files that a disk must have left: no program counts on the last of them."""


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


def room(folder: Path) -> int:
    """Bytes that an ordinary user may still write to the disk that a folder lies on."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


def is_full(folder: Path) -> bool:
    """Whether the disk that a folder lies on has no room left for anybody."""
    try:
        disk = os.statvfs(folder)
        return room(folder) < SPARE or (disk.f_files > 0 and disk.f_favail < SPARE_FILES)
    except OSError:
        return False  # it went with its sandbox


class Watch:
    """Calls `purge` whenever the folders hold more than they may.

    Attributes:
        purges: How often that was.
        shortages: How often the disk was full while they held no more than they may.
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
        self.shortages = 0
        self._folders = folders
        self._size = size
        self._files = files
        self._purge = purge
        self._stop = threading.Event()
        threading.Thread(target=self._run, name="sandbox disk limit", daemon=True).start()

    def is_short(self) -> bool:
        """Whether their disk is full although they hold no more than they may."""
        return any(is_full(folder) for folder in self._folders) and not self._is_over()

    def _is_over(self) -> bool:
        size, files = usage(self._folders)
        return size > self._size or files > self._files

    def stop(self) -> None:
        """Watch no longer."""
        self._stop.set()

    def _run(self) -> None:
        pause = PERIOD
        while not self._stop.wait(pause):
            began = time.monotonic()
            if self._is_over():
                self.purges += 1
                self._purge()
            elif self.is_short():
                self.shortages += 1
            pause = max(PERIOD, (time.monotonic() - began) / SHARE)
