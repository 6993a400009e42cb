"""What a patch makes of a folder, found out in a copy: the patch may come from anybody."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from rubricgrade.errors import InputError

SECONDS = 120
LARGEST = 32 << 20
"""Bytes of a patch, and of a file that one makes."""
MEMORY = 4 << 30
LINKS = re.compile(r"^(?:(?:new|old|new file|deleted file) mode|index [0-9a-f.]+) (?:120000|160000)\s*$", re.MULTILINE)
"""Links and other repositories; git's own headers are the only lines of a patch that begin so."""
# A few bytes of a binary patch can stand for any number of bytes.
LIMITED = f"""
import os, resource, sys
for name, most in (("FSIZE", {LARGEST}), ("AS", {MEMORY}), ("CPU", {SECONDS})):
    resource.setrlimit(getattr(resource, "RLIMIT_" + name), (most, most))
os.execvp(sys.argv[1], sys.argv[1:])
"""


def patched(folder: Path, patch: str, name: str) -> dict[str, bytes | None]:
    """The files that a patch changes, by their paths: what they hold then, None for those that it removes.

    Args:
        folder: What it is applied to; it stays as it is.
        patch: As ``git diff`` writes it, or ``diff -u``.
        name: What to call it in faults.

    Raises:
        InputError: It does not apply, leads out of the folder, or makes anything but plain files.
    """
    if not patch.strip():
        return {}
    if len(patch) > LARGEST:
        raise InputError(f"{name}: has more than {LARGEST >> 20} MiB")
    if LINKS.search(patch):
        raise InputError(f"{name}: touches a symbolic link or a submodule; only plain files are taken")
    with TemporaryDirectory() as place:
        copy = Path(place) / "files"
        shutil.copytree(folder, copy, symlinks=True)
        before = dict(_entries(copy))
        _apply(copy, patch, name)
        after = dict(_entries(copy))
        changed: dict[str, bytes | None] = {}
        for path in sorted({*before, *after}):
            if before.get(path) == after.get(path):
                continue
            if not path.isprintable() or "\\" in path:
                raise InputError(f"{name}: changes {path!r}, which is no path to keep a file at")
            if path not in after:
                changed[path] = None
            elif not stat.S_ISREG(after[path][0]):
                raise InputError(f"{name}: makes {path!r}, which is no plain file")
            else:
                changed[path] = (copy / path).read_bytes()
    return changed


def plain_file(folder: Path, path: str) -> bytes | None:
    """A file of a folder that came from elsewhere; None when there is none, or only over a link."""
    place = folder
    for part in PurePosixPath(path).parts:
        place /= part
        if part == ".." or place.is_symlink():
            return None
    return place.read_bytes() if place.is_file() else None


def _apply(copy: Path, patch: str, name: str) -> None:
    # Nothing of the user's own settings, nor of a repository that the temporary folder may lie in.
    alone = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CEILING_DIRECTORIES": str(copy.parent)}
    env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(copy.parent), "LC_ALL": "C", **alone}
    command = [sys.executable, "-I", "-c", LIMITED, "git", "apply", "--whitespace=nowarn", "-"]
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and no word of the patch's
            command,
            cwd=copy,
            env=env,
            input=patch.encode(),
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InputError(f"{name}: was not applied within {SECONDS} s") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()[-300:] or f"git ended with {done.returncode}"
        raise InputError(f"{name}: does not apply: {said}")


def _entries(folder: Path) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Everything in a folder but the folders: its mode, and what tells whether it was written anew."""
    for at, folders, files in os.walk(folder):
        links = [each for each in folders if Path(at, each).is_symlink()]
        for each in (*files, *links):
            place = Path(at, each)
            facts = place.lstat()
            yield place.relative_to(folder).as_posix(), (facts.st_mode, facts.st_ino, facts.st_size, facts.st_mtime_ns)
