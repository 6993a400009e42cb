"""Reading a folder that somebody hostile has left: by handles, following no link, within a budget."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from rubricgrade.errors import is_of_the_host
from rubricgrade.tree.entries import Budget, Entry, Listing, Skipped

OPAQUE = "user.overlay.opaque"
CHUNK = 1 << 20
DEFAULT = Budget()

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_SPECIAL = {stat.S_IFIFO: "FIFO", stat.S_IFSOCK: "socket", stat.S_IFCHR: "device", stat.S_IFBLK: "device"}

Found = tuple[Entry, int] | Skipped
"""An entry with an open handle (-1 for what has none), valid until the next one is asked for; or what was skipped."""


def open_root(root: Path | int) -> int:
    """A handle on a folder that the caller trusts the path of, or a copy of the handle given."""
    return os.dup(root) if isinstance(root, int) else os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def open_below(parent: int, name: str, flags: int, *, ours: bool) -> int:
    """Open one name in a folder; in a folder of ours, give its owner the right to read it first if need be."""
    try:
        return os.open(name, flags, dir_fd=parent)
    except PermissionError:
        if not ours:
            raise
        allow(parent, name)
        return os.open(name, flags, dir_fd=parent)


def allow(parent: int, name: str) -> None:
    """Let the owner read and write something that is no link, whatever its mode was."""
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISLNK(mode):
            # The only way to change the mode of what can't be opened and must not be reached by its name again.
            os.chmod(f"/proc/self/fd/{handle}", stat.S_IMODE(mode) & 0o777 | (0o700 if stat.S_ISDIR(mode) else 0o600))  # noqa: PTH101  # a handle
    finally:
        os.close(handle)


@dataclass
class _Visit:
    """One pass over a folder."""

    budget: Budget
    layer: bool
    device: int
    entries: int = 0
    total: int = 0

    def folder(self, handle: int, prefix: str, depth: int) -> Iterator[Found]:
        names: list[str] = []
        room = self.budget.entries - self.entries
        with os.scandir(handle) as listing:
            for item in listing:
                if len(names) > room:
                    break  # enough to know that the budget is spent
                names.append(item.name)
        for name in sorted(names, key=os.fsencode):
            path = prefix + name
            self.entries += 1
            if self.entries > self.budget.entries:
                why = f"more than {self.budget.entries} entries; the rest was not looked at"
                yield Skipped(prefix.rstrip("/") or ".", why, folder=True)
                return
            try:
                yield from self.item(handle, name, path, depth)
            except OSError as error:
                if is_of_the_host(error):
                    raise  # it is there: who has left it must not suffer for it
                yield Skipped(path, f"unreadable: {error.strerror}", folder=True)

    def item(self, parent: int, name: str, path: str, depth: int) -> Iterator[Found]:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        kind = stat.S_IFMT(status.st_mode)
        if status.st_dev != self.device:
            yield Skipped(path, "on another file system", folder=kind == stat.S_IFDIR)
        elif len(os.fsencode(path)) > self.budget.path:
            yield Skipped(path, f"a path of more than {self.budget.path} bytes", folder=kind == stat.S_IFDIR)
        elif kind == stat.S_IFLNK:
            yield Entry(path, "link", mode=0o777, target=os.readlink(name, dir_fd=parent)), -1
        elif kind == stat.S_IFDIR:
            yield from self.subfolder(parent, name, path, depth)
        elif kind == stat.S_IFREG:
            yield from self.file(parent, name, path)
        elif self.layer and kind == stat.S_IFCHR and status.st_rdev == 0:
            yield Entry(path, "deleted", mode=0), -1
        else:
            yield Skipped(path, _SPECIAL.get(kind, "unknown kind"))

    def subfolder(self, parent: int, name: str, path: str, depth: int) -> Iterator[Found]:
        if depth >= self.budget.depth:
            yield Skipped(path, f"deeper than {self.budget.depth} folders", folder=True)
            return
        mode = stat.S_IMODE(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode) & 0o777
        handle = open_below(parent, name, _OPEN_FOLDER, ours=self.layer)
        try:
            if os.fstat(handle).st_dev != self.device:
                yield Skipped(path, "on another file system", folder=True)
                return
            yield Entry(path, "folder", mode=mode, opaque=self.layer and _is_opaque(handle)), handle
            yield from self.folder(handle, path + "/", depth + 1)
        finally:
            os.close(handle)

    def file(self, parent: int, name: str, path: str) -> Iterator[Found]:
        handle = open_below(parent, name, _OPEN_FILE, ours=self.layer)
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode) or status.st_dev != self.device:
                yield Skipped(path, "changed while it was opened")
            elif status.st_size > self.budget.file:
                yield Skipped(path, f"too large: {status.st_size} bytes, at most {self.budget.file} are taken")
            elif self.total + status.st_size > self.budget.total:
                yield Skipped(path, f"over the budget of {self.budget.total} bytes in all")
            else:
                self.total += status.st_size
                yield Entry(path, "file", status.st_size, stat.S_IMODE(status.st_mode) & 0o777), handle
        finally:
            os.close(handle)


def _is_opaque(handle: int) -> bool:
    try:
        return os.getxattr(handle, OPAQUE) == b"y"
    except OSError as error:
        if is_of_the_host(error):
            raise
        return False


def visit(root: Path | int, budget: Budget = DEFAULT, *, layer: bool = False) -> Generator[Found, None, None]:
    """Go through a folder in the order of its paths.

    Args:
        root: A folder whose own path is trusted, or a handle on it.
        budget: How much to look at.
        layer: It is a folder of changes made by an overlay, and ours: deletions are reported, and what its maker
            has closed to us is opened.

    Raises:
        OSError: The folder can't be read, or something in it by no doing of whoever has left it.
    """
    handle = open_root(root)
    try:
        yield from _Visit(budget, layer, os.fstat(handle).st_dev).folder(handle, "", 0)
    finally:
        os.close(handle)


def listing(found: list[Entry | Skipped]) -> Listing:
    """Sort what a pass has found into entries and skipped ones."""
    return Listing(
        tuple(item for item in found if isinstance(item, Entry)),
        tuple(item for item in found if isinstance(item, Skipped)),
    )


def walk(root: Path | int, budget: Budget = DEFAULT, *, layer: bool = False) -> Listing:
    """List a folder; arguments as in `visit`."""
    with closing(visit(root, budget, layer=layer)) as found:
        return listing([item if isinstance(item, Skipped) else item[0] for item in found])


def chunks(handle: int, size: int) -> Iterator[bytes]:
    """Exactly `size` bytes of an open file: cut, or filled with zeros, if it changes meanwhile."""
    left = size
    while left > 0:
        data = os.read(handle, min(CHUNK, left)) or bytes(min(CHUNK, left))
        left -= len(data)
        yield data


def digest(root: Path | int, budget: Budget = DEFAULT) -> str:
    """The content hash of a folder, ``sha256:...``: paths, kinds, executable bits, contents and link texts.

    Times, owners and other permission bits do not count. What is skipped counts by its path and reason.
    """
    whole = hashlib.sha256()

    def add(*fields: bytes) -> None:
        for field in fields:
            whole.update(len(field).to_bytes(8, "big") + field)

    with closing(visit(root, budget)) as found:
        for item in found:
            if isinstance(item, Skipped):
                add(b"skipped", os.fsencode(item.path), item.reason.encode())
                continue
            entry, handle = item
            content = hashlib.sha256()
            for chunk in chunks(handle, entry.size) if entry.kind == "file" else (os.fsencode(entry.target),):
                content.update(chunk)
            executable = entry.kind == "file" and entry.mode & 0o100 != 0
            add(entry.kind.encode(), os.fsencode(entry.path), b"x" if executable else b"-", content.digest())
    return f"sha256:{whole.hexdigest()}"


def parts_of(path: str) -> list[str]:
    """The names in a relative path.

    Raises:
        ValueError: It is empty, absolute, holds a NUL, or leaves the folder.
    """
    if not path or path.startswith("/") or "\0" in path:
        raise ValueError(f"not a relative path: {path!r}")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts or not parts:
        raise ValueError(f"the path leaves its folder: {path!r}")
    return parts


def read(root: Path | int, path: str, limit: int = 10 << 20) -> bytes:
    """Read a regular file of a folder. No link is followed, neither as the file nor on the way to it.

    Raises:
        FileNotFoundError: Nothing is there, or it is no regular file.
        ValueError: The path leaves the folder, or the file is larger than `limit` bytes.
        OSError: The host fails (`errors.is_of_the_host`).
    """
    parts = parts_of(path)
    handle = open_root(root)
    try:
        for index, name in enumerate(parts):
            flags = _OPEN_FILE if index == len(parts) - 1 else _OPEN_FOLDER
            try:
                below = os.open(name, flags, dir_fd=handle)
            except OSError as error:
                if is_of_the_host(error):
                    raise
                raise FileNotFoundError(error.errno, f"{path!r} is no readable file here ({error.strerror})") from error
            os.close(handle)
            handle = below
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise FileNotFoundError(f"{path!r} is no regular file")
        if status.st_size > limit:
            raise ValueError(f"{path!r} has {status.st_size} bytes; at most {limit} are read")
        data = b"".join(iter(lambda: os.read(handle, min(CHUNK, limit + 1)), b""))
    finally:
        os.close(handle)
    if len(data) > limit:
        raise ValueError(f"{path!r} grew past {limit} bytes")
    return data
