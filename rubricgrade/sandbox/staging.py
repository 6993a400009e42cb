"""Private folders that become layers of sandboxes: copied once from a workspace or an archive."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rubricgrade import tree
from rubricgrade.sandbox import state


@dataclass(frozen=True, slots=True)
class Staged:
    """A staged folder.

    Attributes:
        folder: The folder, for `Layer.source`.
        listing: What it holds, and what of the source was left out.
        entry: What keeps it alive.
    """

    folder: Path
    listing: tree.Listing
    entry: state.Entry

    def release(self) -> None:
        """Remove it. No sandbox may use it any more."""
        self.entry.release()


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
    return Staged(entry.folder / "files", listing, entry)
