"""What a folder holds, as values: entries, what was left out and why, and how much is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["file", "folder", "link", "deleted"]


@dataclass(frozen=True, slots=True)
class Budget:
    """How much of a folder is looked at; the rest is listed as skipped.

    Attributes:
        entries: Files, folders and links in all.
        total: Bytes of all files together.
        file: Bytes of one file. A sparse file counts by its apparent size.
        depth: Folders in folders.
        path: Bytes of a path. A longer one could not be opened by its name everywhere, with the folder's own before it.
    """

    entries: int = 200_000
    total: int = 2 << 30
    file: int = 512 << 20
    depth: int = 100
    path: int = 3072


@dataclass(frozen=True, slots=True)
class Entry:
    r"""One thing in a folder.

    Attributes:
        path: Relative, with ``/``; bytes that are no UTF-8 are kept by ``surrogateescape``. May hold a newline.
        kind: ``deleted`` occurs only in a folder of changes: the path was in the layer below and is no more.
        size: Bytes of a file, else 0.
        mode: Permission bits, at most 0o777.
        target: Text of a link.
        opaque: A folder of changes that hides what the layer below has there.
    """

    path: str
    kind: Kind
    size: int = 0
    mode: int = 0o644
    target: str = ""
    opaque: bool = False


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was left out.

    Attributes:
        path: As in `Entry`; ``.`` is the whole.
        reason: ``FIFO``, ``socket``, ``device``, ``too large: ...``, ...
        folder: It is a folder, of which nothing more was looked at.
    """

    path: str
    reason: str
    folder: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """What a folder holds, sorted by path, and what was left out of it."""

    entries: tuple[Entry, ...]
    skipped: tuple[Skipped, ...] = ()
