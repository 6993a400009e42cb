"""Folders that an agent has left, treated as hostile: list, hash, read, copy, pack, unpack, remove.

No link is followed, nothing but regular files is opened, and everything is bounded. A root given as a path is trusted
as a path; what lies below it is not.
"""

from rubricgrade.tree.archive import identity, left_out, pack, unpack
from rubricgrade.tree.entries import Budget, Entry, Kind, Listing, Skipped
from rubricgrade.tree.making import copy, remove
from rubricgrade.tree.visiting import digest, read, walk

__all__ = [
    "Budget",
    "Entry",
    "Kind",
    "Listing",
    "Skipped",
    "copy",
    "digest",
    "identity",
    "left_out",
    "pack",
    "read",
    "remove",
    "unpack",
    "walk",
]
