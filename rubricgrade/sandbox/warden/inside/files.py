"""Files here: read, written, made from entries, and compared with how they were; no link is ever followed.

An entry is ``{path, kind, size, mode, target, opaque}`` with the first piece of a file's content in ``data``; while
``more`` is set, the next items carry the rest.
"""

import base64
import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from typing import Any

from rubricgrade.sandbox.pid1.system import EINVAL, descend

Item = dict[str, Any]
Mark = tuple[int, int, int, int]
"""Inode, time of the last change of anything (which only the kernel sets), size, mode."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NAMES = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
_SPECIAL = {stat.S_IFIFO: "FIFO", stat.S_IFSOCK: "socket"}


class Maker:
    """Makes entries below a place. The last file stays open as long as more of it comes."""

    def __init__(self, place: str, *, frozen: bool) -> None:
        """Start below a place.

        Args:
            place: Absolute path of a folder, made if missing.
            frozen: Take away the right to write from everything at the end.
        """
        self.place = place
        self.frozen = frozen
        self.file = -1
        self.mode = 0
        self.folders: list[tuple[str, int]] = []
        os.close(_folder(place))

    def add(self, item: Item) -> None:
        """Make the next entry, or append to the last file."""
        if "path" in item:
            self.make(item)
        data = base64.b64decode(item.get("data", ""))
        if self.file >= 0:
            while data:
                data = data[os.write(self.file, data) :]
            if not item.get("more"):
                os.fchmod(self.file, self.mode & (0o555 if self.frozen else 0o777))
                os.close(self.file)
                self.file = -1

    def make(self, item: Item) -> None:
        """Make an entry, in the place of what is there under its name."""
        path, kind = item["path"], item["kind"]
        above, _, name = path.rpartition("/")
        if name in ("", ".", "..") or "\0" in path:
            raise OSError(EINVAL, "not a path below its place")
        parent = _folder(f"{self.place}/{above}")
        try:
            keep = kind == "folder" and not item.get("opaque") and is_folder(parent, name)
            if not keep:
                remove(parent, name)
            if kind == "folder":
                if not keep:
                    os.mkdir(name, 0o700, dir_fd=parent)
                self.folders.append((path, item["mode"]))
            elif kind == "link":
                os.symlink(item["target"], name, dir_fd=parent)
            elif kind == "file":
                self.file = os.open(name, _NEW, 0o600, dir_fd=parent)
                self.mode = item["mode"]
        finally:
            os.close(parent)

    def finish(self) -> None:
        """Give the folders their modes: last, since one that is closed to us could not be filled."""
        for path, mode in reversed(self.folders):
            handle = descend(f"{self.place}/{path}", make=False)
            try:
                # A handle for a path only can't be changed by itself.
                os.chmod(f"/proc/self/fd/{handle}", mode & (0o555 if self.frozen else 0o777))  # noqa: PTH101  # a handle
            finally:
                os.close(handle)


def is_folder(parent: int, name: str) -> bool:
    """Whether a name in a folder is a folder itself."""
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def remove(parent: int, name: str) -> None:
    """Delete a name in a folder with everything below it, if it is there."""
    if is_folder(parent, name):
        shutil.rmtree(name, dir_fd=parent)
        return
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=parent)


def marks(place: str) -> dict[str, Mark]:
    """How everything below a place is now, by path."""
    root = _folder(place)
    try:
        return dict(_below(root, "", 0))
    finally:
        os.close(root)


def _folder(path: str) -> int:
    """A handle on a folder, made if missing, for more than its path only."""
    found = descend(path, make=True)
    try:
        return os.open(".", _FOLDER, dir_fd=found)
    finally:
        os.close(found)


def _below(handle: int, prefix: str, depth: int) -> Iterator[tuple[str, Mark]]:
    for name in os.listdir(handle):
        try:
            status = os.stat(name, dir_fd=handle, follow_symlinks=False)
        except FileNotFoundError:
            continue
        yield prefix + name, (status.st_ino, status.st_ctime_ns, status.st_size, status.st_mode)
        if stat.S_ISDIR(status.st_mode) and depth < 100:  # noqa: PLR2004  # deeper than that the host takes nothing
            try:
                below = _open(handle, name, _FOLDER)
            except OSError:
                continue  # changed meanwhile
            try:
                yield from _below(below, f"{prefix}{name}/", depth + 1)
            finally:
                os.close(below)


def _open(parent: int, name: str, flags: int) -> int:
    """Open a name; what its maker has closed to himself he may open to himself, and we are he."""
    try:
        return os.open(name, flags, dir_fd=parent)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=parent)  # relative to a handle
        return os.open(name, flags, dir_fd=parent)


def changes(place: str, before: dict[str, Mark], budget: dict[str, int], piece: int) -> Iterator[Item]:
    """What differs from `before`, as entries; what is gone as ``deleted``; what is not taken with ``skipped``.

    A folder of which nothing more is told is one of the latter, and its kind says so.

    Args:
        place: Absolute path of a folder.
        before: Its `marks` at another time.
        budget: Most ``entries``, bytes in ``total`` and of one ``file``.
        piece: Most bytes of content in one item.
    """
    now = marks(place)
    differing = {path for path, mark in now.items() if before.get(path) != mark}
    differing |= {path for path in before if path not in now and _was_deleted(path, now)}
    for path in tuple(differing):
        parts = path.split("/")
        differing |= {"/".join(parts[:size]) for size in range(1, len(parts))}
    left = budget["total"]
    for count, path in enumerate(sorted(differing, key=_order)):
        if count >= budget["entries"]:
            why = f"more than {budget['entries']} entries; the rest was not looked at"
            yield {"path": ".", "kind": "folder", "skipped": why}
            return
        if path not in now:
            yield {"path": path, "kind": "deleted", "mode": 0, "size": 0}
            continue
        try:
            for item in _item(place, path, min(left, budget["file"]), piece):
                left -= item.get("size", 0)
                yield item
        except OSError as error:
            yield {"path": path, "kind": "folder", "skipped": f"unreadable: {error.strerror}"}


def _order(path: str) -> list[bytes]:
    """Folders before what they hold."""
    return os.fsencode(path).split(b"/")


def _was_deleted(path: str, now: dict[str, Mark]) -> bool:
    """Whether the loss of a path has to be told: what held it is still a folder, or else has gone with it."""
    above = path.rpartition("/")[0]
    return not above or (above in now and stat.S_ISDIR(now[above][3]))


def _item(place: str, path: str, most: int, piece: int) -> Iterator[Item]:
    """One thing as it is now, a file in pieces: as many bytes as it had, filled with zeros if it shrinks meanwhile."""
    above, _, name = path.rpartition("/")
    parent = descend(f"{place}/{above}", make=False)
    handle = -1
    try:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        kind = _NAMES.get(stat.S_IFMT(status.st_mode))
        head: Item = {"path": path, "kind": kind, "mode": stat.S_IMODE(status.st_mode) & 0o777, "size": 0}
        if kind is None:
            yield {"path": path, "skipped": _SPECIAL.get(stat.S_IFMT(status.st_mode), "device")}
        elif kind == "folder":
            yield head
        elif kind == "link":
            yield head | {"target": os.readlink(name, dir_fd=parent)}
        elif status.st_size > most:
            yield {"path": path, "skipped": f"too large: {status.st_size} bytes, {most} more are taken"}
        else:
            handle = _open(parent, name, _FILE)
            left = status.st_size
            item = head | {"size": left}
            while item or left:
                size = min(piece, left)
                data = os.read(handle, size) if size else b""
                data += bytes(0 if data else size)
                left -= len(data)
                yield item | {"data": base64.b64encode(data).decode(), "more": left > 0}
                item = {}
    finally:
        os.close(parent)
        if handle >= 0:
            os.close(handle)
