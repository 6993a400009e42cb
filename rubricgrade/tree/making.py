"""Writing folders by handles: private copies of a hostile folder, and removing one whatever its modes."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Self

from rubricgrade.tree.entries import Budget, Entry, Listing, Skipped
from rubricgrade.tree.visiting import DEFAULT, OPAQUE, allow, chunks, listing, open_below, parts_of, visit

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_DEEP = 100
"""Folders in folders that `remove` goes down before it moves the rest up."""


class Builder:
    """Fills a new folder. Every path is walked from its root by handles, and nothing that exists is ever reused.

    Setuid, setgid and sticky bits are dropped.
    """

    def __init__(self, root: Path | int, *, owner: int | None = None, layer: bool = False) -> None:
        """Take an empty folder, or make one.

        Args:
            root: The folder to make, or a handle on an empty one.
            owner: User and group of everything in it; default: ours.
            layer: It will be a folder of changes of an overlay: keep its marks, and modes as they are. Otherwise
                deletions are ignored, and the owner may read and write everything.
        """
        self._owner = owner
        self._layer = layer
        if isinstance(root, int):
            self._root = os.dup(root)
        else:
            root.mkdir(mode=0o700)
            self._root = os.open(root, _FOLDER)
            self._own(self._root)
        self._last: tuple[list[str], int] = ([], os.dup(self._root))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._root)
        os.close(self._last[1])

    def add(self, entry: Entry, content: Iterable[bytes] = ()) -> None:
        """Make one entry, with the content of a file.

        Raises:
            ValueError: The path leaves the folder, is there already, or leads through something that is no folder.
        """
        if entry.kind == "deleted" and not self._layer:
            return
        *above, name = parts_of(entry.path)
        try:
            self._add(self._parent(above), name, entry, content)
        except (FileExistsError, NotADirectoryError) as error:
            raise ValueError(f"{entry.path!r} collides with another entry") from error
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise ValueError(f"{entry.path!r} leads through a link") from error
            raise

    def _add(self, parent: int, name: str, entry: Entry, content: Iterable[bytes]) -> None:
        if entry.kind == "folder":
            os.mkdir(name, 0o700, dir_fd=parent)
            handle = os.open(name, _FOLDER, dir_fd=parent)
            try:
                self._own(handle)
                os.fchmod(handle, entry.mode & 0o777 | 0o700)  # so that it can be filled
                if self._layer and entry.opaque:
                    os.setxattr(handle, OPAQUE, b"y")
            finally:
                os.close(handle)
        elif entry.kind == "file":
            handle = os.open(name, _NEW_FILE, 0o600, dir_fd=parent)
            try:
                for chunk in content:
                    _write(handle, chunk)
                os.ftruncate(handle, os.lseek(handle, 0, os.SEEK_CUR))
                self._own(handle)
                os.fchmod(handle, entry.mode & 0o777 | (0 if self._layer else 0o600))
            finally:
                os.close(handle)
        else:
            if entry.kind == "link":
                os.symlink(entry.target, name, dir_fd=parent)
            else:
                os.mknod(name, stat.S_IFCHR, os.makedev(0, 0), dir_fd=parent)
            if self._owner is not None:
                os.chown(name, self._owner, self._owner, dir_fd=parent, follow_symlinks=False)

    def _own(self, handle: int) -> None:
        if self._owner is not None:
            os.fchown(handle, self._owner, self._owner)

    def _parent(self, above: list[str]) -> int:
        """A handle on a folder of ours, made if missing. The last one is kept: entries come sorted."""
        if above == self._last[0]:
            return self._last[1]
        handle = os.dup(self._root)
        for name in above:
            try:
                below = os.open(name, _FOLDER, dir_fd=handle)
            except FileNotFoundError:
                os.mkdir(name, 0o755, dir_fd=handle)
                below = os.open(name, _FOLDER, dir_fd=handle)
                self._own(below)
            finally:
                os.close(handle)
            handle = below
        os.close(self._last[1])
        self._last = (above, handle)
        return handle


def _write(handle: int, chunk: bytes) -> None:
    """Append to a file, leaving a hole for zeros: a sparse file stays one."""
    if chunk == bytes(len(chunk)):
        os.lseek(handle, len(chunk), os.SEEK_CUR)
        return
    view = memoryview(chunk)
    while view:
        view = view[os.write(handle, view) :]


def copy(
    root: Path | int, to: Path | int, budget: Budget = DEFAULT, *, owner: int | None = None, layer: bool = False
) -> Listing:
    """Make a private copy of a folder: regular files, folders and links only.

    Args:
        root: A folder whose own path is trusted, or a handle on it.
        to: The folder to make, or a handle on an empty one.
        budget: How much is copied; the rest is listed as skipped.
        owner: User and group of everything in the copy; default: ours.
        layer: Both are folders of changes of an overlay: deletions are copied too.

    Raises:
        FileExistsError: `to` exists.
    """
    done: list[Entry | Skipped] = []
    with Builder(to, owner=owner, layer=layer) as builder, closing(visit(root, budget, layer=layer)) as found:
        for item in found:
            if isinstance(item, Skipped):
                done.append(item)
                continue
            entry, handle = item
            builder.add(entry, chunks(handle, entry.size) if entry.kind == "file" else ())
            done.append(entry)
    return listing(done)


def remove(root: Path) -> None:
    """Delete a folder of ours with everything in it, whatever modes, names and depth an agent has given to that.

    Nothing happens when it is gone already.
    """
    try:
        parent = os.open(root.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        try:
            handle = open_below(parent, root.name, _FOLDER, ours=True)
        except FileNotFoundError:
            return
        try:
            while _empty(handle, handle, 0):
                pass  # deep folders were moved up: go again
        finally:
            os.close(handle)
        os.rmdir(root.name, dir_fd=parent)
    finally:
        os.close(parent)


def _empty(handle: int, top: int, depth: int) -> bool:
    """Delete all in a folder; True when something was moved up into `top` instead."""
    moved = False
    with os.scandir(handle) as items:
        found = [(item.name, item.is_dir(follow_symlinks=False)) for item in items]
    if found and os.fstat(handle).st_mode & 0o300 != 0o300:  # noqa: PLR2004  # the owner may write and search
        os.fchmod(handle, 0o700)
    for name, is_folder in found:
        if not is_folder:
            os.unlink(name, dir_fd=handle)
            continue
        if depth >= _DEEP:
            allow(handle, name)
            os.rename(name, f".deep-{os.urandom(16).hex()}", src_dir_fd=handle, dst_dir_fd=top)
            moved = True
            continue
        below = open_below(handle, name, _FOLDER, ours=True)
        try:
            moved |= _empty(below, top, depth + 1)
        finally:
            os.close(below)
        os.rmdir(name, dir_fd=handle)
    return moved
