"""Private folders that become layers of sandboxes: copied once from a workspace or an archive, shared by many."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from rubricgrade import tree
from rubricgrade.sandbox import state


class Staged:
    """A staged folder, kept while somebody holds it.

    Attributes:
        folder: The folder, for `Layer.source`.
        listing: What it holds, and what of the source was left out.
    """

    def __init__(self, entry: state.Entry, listing: tree.Listing) -> None:
        self.folder = entry.folder / "files"
        self.listing = listing
        self._entry = entry
        self._holders = 1
        self._lock = threading.Lock()
        self._owner = os.getpid()

    def hold(self) -> Staged:
        """Keep it for one more holder."""
        with self._lock:
            self._holders += 1
        return self

    def release(self) -> None:
        """Let go; the last one to do so removes the folder."""
        with self._lock:
            self._holders -= 1
            last = self._holders == 0
        if last and self._owner == os.getpid():
            self._entry.release()


def stage(
    source: Path | int, *, owner: int | None, budget: tree.Budget | None = None, layer: bool = False, label: str = ""
) -> Staged:
    """Copy a hostile folder, or restore an archive, into a private folder.

    Args:
        source: A folder, a handle on one, or a file that `tree.pack` has written.
        owner: User and group of the copy, see `launch.KERNEL_UID`; None: ours.
        budget: What is taken of a folder, or may be in an archive.
        layer: Keep the marks of deletions, for a layer above others at the same place.
        label: For `Provider.reap`.

    Raises:
        ValueError: The archive is damaged, hostile, or over the budget.
        OSError: The source can't be read, or the disk is full.
    """
    budget = budget or tree.Budget()
    entry = state.create(label)
    try:
        if isinstance(source, Path) and source.is_file():
            listing = tree.unpack(source, entry.folder / "files", budget, owner=owner, layer=layer)
        else:
            listing = tree.copy(source, entry.folder / "files", budget, owner=owner, layer=layer)
        (entry.folder / "files").chmod(0o755)
    except BaseException:
        entry.release()
        raise
    return Staged(entry, listing)


@contextmanager
def staged(source: Path, *, owner: int | None, layer: bool = False) -> Generator[Staged]:
    """`stage` for the length of a block."""
    result = stage(source, owner=owner, layer=layer)
    try:
        yield result
    finally:
        result.release()
