"""The private folder on the host where live sandboxes keep their changes, and what is left when an owner dies.

Each entry is a folder whose lock file is held by the process that made it for as long as it lives: an entry whose lock
is free belongs to nobody. The names say nothing, since some of them show up inside (in /proc/self/mountinfo).
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rubricgrade import tree
from rubricgrade.errors import SandboxUnavailable
from rubricgrade.sandbox import cgroups

FRESH = 60.0
"""Seconds that an entry without its lock may be in the making."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One folder of ours, locked.

    Attributes:
        folder: The folder; only its owner may look into it.
        lock: Open lock file.
        label: What the caller named it.
        groups: Control groups that belong to it.
    """

    folder: Path
    lock: int
    label: str = ""
    groups: tuple[str, ...] = field(default=())

    def release(self) -> None:
        """Remove the folder with everything in it, then let go of the lock."""
        try:
            for group in self.groups:
                cgroups.remove(Path(group))
            # On a host that fails, what stays belongs to nobody from here on, and the next `reap` removes it.
            with contextlib.suppress(OSError):
                tree.remove(self.folder)
        finally:
            self.let_go()

    def let_go(self) -> None:
        """Unlock it without removing anything."""
        _locks.discard(self.lock)
        os.close(self.lock)


_locks: set[int] = set()


@functools.cache
def _unlock_after_fork() -> None:
    """Have every later fork give up its copies of our locks, so that an entry is free once its owner is dead."""

    def close_all() -> None:
        for lock in _locks:
            os.close(lock)
        _locks.clear()

    os.register_at_fork(after_in_child=close_all)


def root() -> Path:
    """The state folder of this user, made if missing.

    It lies in TMPDIR when that is set, else in /var/tmp, because changes kept on disk must not fill memory.

    Raises:
        SandboxUnavailable: It exists, but somebody else made it.
    """
    above = os.environ.get("TMPDIR") or ("/var/tmp" if os.access("/var/tmp", os.W_OK) else tempfile.gettempdir())  # noqa: S108  # made 0700 and verified below
    folder = Path(above) / f"sandbox-{os.geteuid()}"
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise SandboxUnavailable(f"{above}: {error.strerror}; set TMPDIR to a folder that you may write to") from error
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise SandboxUnavailable(
            f"{folder} is not a private folder of this user; remove it or set TMPDIR to a folder of your own"
        )
    return folder


def create(label: str = "", groups: tuple[str, ...] = ()) -> Entry:
    """Make and lock an entry. The rename at the end is what makes it visible to `reap`."""
    above = root()
    name = secrets.token_hex(8)
    making = above / f"n-{name}"
    making.mkdir(mode=0o700)
    folder = above / f"s-{name}"
    with contextlib.ExitStack() as undone:
        undone.callback(tree.remove, making)
        lock = os.open(making / "lock", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        undone.callback(os.close, lock)
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.write(lock, json.dumps({"label": label, "groups": groups, "made": time.time()}).encode())
        _unlock_after_fork()
        making.rename(folder)
        undone.pop_all()
    _locks.add(lock)
    return Entry(folder, lock, label, groups)


def _ownerless(above: Path) -> Iterator[tuple[Entry, float]]:
    """Entries that nobody holds, locked now by us, with the time they were made at."""
    for folder in sorted(above.glob("s-*")):
        try:
            lock = os.open(folder / "lock", os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue  # removed meanwhile
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            about = json.loads(os.pread(lock, 1 << 16, 0) or b"{}")
        except (BlockingIOError, ValueError):
            os.close(lock)
            continue
        yield Entry(folder, lock, about.get("label", ""), tuple(about.get("groups", ()))), about.get("made", 0.0)


def reap(label: str | None = None, older_than: float = 0) -> int:
    """Remove entries whose owner has died.

    Args:
        label: Only those of this label.
        older_than: Only those made at least so many seconds ago.

    Returns:
        How many were removed.
    """
    above = root()
    count = 0
    for entry, made in _ownerless(above):
        if (label is None or entry.label == label) and time.time() - made >= older_than:
            entry.release()
            count += 1
        else:
            entry.let_go()
    for making in above.glob("n-*"):
        # Somebody else who is making a sandbox right now may have renamed it meanwhile.
        with contextlib.suppress(FileNotFoundError):
            if time.time() - making.lstat().st_mtime > FRESH:
                tree.remove(making)
    return count
