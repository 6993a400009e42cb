"""A folder of hostile files: opened component by component so that no link is followed, and only regular files read."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping

from rubricgrade.checks.inside.finding import BadArtifact, Unusable
from rubricgrade.errors import is_of_the_host

MiB = 1 << 20
LARGEST_FILE = 64 * MiB


class Folder:
    """Files below one root, named by paths relative to it. What made it ready has bounded their number and depth.

    Args:
        root: Where they lie.
        left_out: What is no regular file, or too large, and was left out when the folder was made ready: what it is.
            It counts as unusable, never as absent: an agent could hide a file from a check with it. A path that ends
            with a slash is a folder of which nothing is known.
    """

    def __init__(self, root: str, left_out: Mapping[str, str] | None = None) -> None:
        self.root = root
        self.left_out = dict(left_out or {})

    def data(self, path: str, limit: int = LARGEST_FILE) -> bytes:
        """The bytes of a regular file.

        Raises:
            BadArtifact: It is missing, no regular file, larger than `limit`, or reached over a link.
            OSError: The host fails.
        """
        try:
            handle = self._open(path)
        except FileNotFoundError:
            raise BadArtifact(path, self._missing(path)) from None
        except OSError as error:
            self._raise_the_hosts(error, path)
            raise BadArtifact(path, f"can't be read: {error.strerror}") from None
        try:
            facts = os.fstat(handle)
            if not stat.S_ISREG(facts.st_mode):
                raise BadArtifact(path, "is no regular file")
            if facts.st_size > limit:
                raise BadArtifact(path, f"has {facts.st_size:,} bytes, more than the {limit:,} that are read")
            # A file on a live mount may grow: no more than was allowed is taken.
            with os.fdopen(handle, "rb", closefd=False) as file:
                data = file.read(limit + 1)
        except OSError as error:
            self._raise_the_hosts(error, path)
            raise
        finally:
            os.close(handle)
        if len(data) > limit:
            raise BadArtifact(path, f"has more than {limit:,} bytes")
        return data

    def size(self, path: str) -> int | None:
        """Bytes of a regular file; None when there is none."""
        facts = self._facts(path)
        return facts.st_size if facts is not None and stat.S_ISREG(facts.st_mode) else None

    def has(self, path: str) -> bool:
        """Whether a regular file or a folder is there. Raises `BadArtifact` for anything else."""
        facts = self._facts(path)
        if facts is None and (why := self._why_not(path)):
            raise BadArtifact(path, why)
        return facts is not None and (stat.S_ISREG(facts.st_mode) or stat.S_ISDIR(facts.st_mode))

    def no_file(self, pattern: str) -> None:
        """Make sure that nothing is there where no regular file was found. Raises `BadArtifact` for what is."""
        wanted = glob_regex(pattern)
        for path, why in self.left_out.items():
            if wanted.fullmatch(path.removesuffix("/")):
                raise BadArtifact(path, why)
        self._all_known(pattern)
        if not is_glob(pattern) and self.has(pattern):
            raise BadArtifact(pattern, "is a folder, no file")

    def find(self, pattern: str, *, all_known: bool = True) -> list[str]:
        """Paths of regular files that match a glob, sorted: ``*``, ``?``, ``[...]`` in a name, ``**`` over folders.

        Args:
            pattern: The glob.
            all_known: Whether a part of them is not enough.

        Raises:
            BadArtifact: A folder that could hold more of them was left out.
        """
        wanted = glob_regex(pattern)
        if all_known:
            self._all_known(pattern)
        return sorted(path for path in self._walk() if wanted.fullmatch(path))

    def _all_known(self, pattern: str) -> None:
        for path, why in self.left_out.items():
            if path.endswith("/") and may_hold(path, pattern):
                raise BadArtifact(path, why)

    def _facts(self, path: str) -> os.stat_result | None:
        try:
            handle = self._open(path)
        except OSError as error:
            self._raise_the_hosts(error, path)  # it is not absent: nothing is known of it
            return None
        try:
            return os.fstat(handle)
        finally:
            os.close(handle)

    def _raise_the_hosts(self, error: OSError, path: str = "") -> None:
        """Raise an error that says nothing of the file, named by its place; no other."""
        if is_of_the_host(error):
            raise OSError(error.errno, error.strerror, f"{self.root}/{path}") from error

    def _missing(self, path: str) -> str:
        return self._why_not(path) or "is missing"

    def _why_not(self, path: str) -> str | None:
        # The path itself, or a folder on the way to it; "./" is on every way.
        ends = [*(at for at, sign in enumerate(path) if sign == "/"), len(path)]
        ways = ["./", *(path[:at] + slash for at in ends for slash in ("", "/"))]
        return next((self.left_out[way] for way in ways if way in self.left_out), None)

    def _open(self, path: str) -> int:
        """A handle of the last component; raises `OSError`."""
        parts = parts_of(path)
        folder = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in parts[:-1]:
                inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
                os.close(folder)
                folder = inner
            # O_NONBLOCK: opening a FIFO must not wait for a writer.
            return os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        finally:
            os.close(folder)

    def _walk(self) -> Iterator[str]:
        for folder, _, files in os.walk(self.root, onerror=self._raise_the_hosts, followlinks=False):
            inside = os.path.relpath(folder, self.root)
            for name in files:
                path = name if inside == "." else f"{inside}/{name}"
                if stat.S_ISREG(os.lstat(f"{folder}/{name}").st_mode):
                    yield path


def parts_of(path: str) -> list[str]:
    """The components of a relative path that stays in its folder. Raises `Unusable` for any other."""
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if path.startswith("/") or not parts or ".." in parts or "\0" in path:
        raise Unusable(f"{path!r} is no relative path inside the folder")
    return parts


def glob_regex(pattern: str) -> re.Pattern[str]:
    """A glob as a regular expression for whole relative paths."""
    parts = parts_of(pattern)
    text = ""
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        if part == "**":
            text += ".*" if last else "(?:[^/]+/)*"
        else:
            text += _name_regex(part) + ("" if last else "/")
    return re.compile(text, re.DOTALL)


def is_glob(path: str) -> bool:
    """Whether a path has any sign of a glob."""
    return any(sign in path for sign in "*?[")


def may_hold(folder: str, pattern: str, *, anywhere: bool = True) -> bool:
    """Whether something below a folder (its path ends with a slash) could match a glob.

    Args:
        folder: The folder's path.
        pattern: The glob.
        anywhere: Whether a folder counts that only ``**`` leads to.
    """
    parts, names = parts_of(pattern), [name for name in folder.split("/") if name not in {"", "."}]
    for part, name in zip(parts, names, strict=False):
        if part == "**":
            return anywhere
        if not re.fullmatch(_name_regex(part), name, re.DOTALL):
            return False
    return len(parts) > len(names)


def _name_regex(part: str) -> str:
    text, position = "", 0
    while position < len(part):
        sign = part[position]
        end = part.find("]", position + 2) if sign == "[" else -1
        if sign == "*":
            text += "[^/]*"
        elif sign == "?":
            text += "[^/]"
        elif end > 0:
            inner = part[position + 1 : end].replace("\\", r"\\")
            text += f"[^{inner[1:]}]" if inner[0] in "!^" else f"[{inner}]"
            position = end
        else:
            text += re.escape(sign)
        position += 1
    return text
