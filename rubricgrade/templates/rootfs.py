"""A root file system becomes a layer: from a folder, or from a tar as `docker export` and mmdebstrap write it.

Everything in the copy belongs to the sandbox's user. Device files and the like are left out: every sandbox has its own
``/dev`` and ``/proc``.
"""

from __future__ import annotations

import tarfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

import zstandard

from rubricgrade import tree
from rubricgrade.errors import Fault, TemplateError
from rubricgrade.templates.identity import BUDGET
from rubricgrade.tree.entries import Entry
from rubricgrade.tree.making import Builder
from rubricgrade.tree.visiting import CHUNK

LEFT_OUT = ("dev", "proc", "sys")
"""Folders whose content every sandbox brings itself; they are made, empty."""
MAGIC = b"\x28\xb5\x2f\xfd"
"""The first bytes of a Zstandard frame."""


def copy_rootfs(rootfs: Path, to: Path, owner: int | None) -> tuple[str, ...]:
    """Copy a root file system into a new folder.

    Args:
        rootfs: A folder or a tar.
        to: The folder to make.
        owner: User and group of everything in it; None: ours.

    Returns:
        What was left out, and why.

    Raises:
        TemplateError: The tar is damaged, or holds what has no place in a root file system.
    """
    if rootfs.is_dir():
        skipped = tree.copy(rootfs, to, BUDGET, owner=owner).skipped
        left = tuple(f"{item.path}: {item.reason}" for item in skipped)
    else:
        try:
            with Builder(to, owner=owner) as builder, _opened(rootfs) as tar:
                left = tuple(_filled(builder, tar, to))
        except (tarfile.TarError, zstandard.ZstdError, EOFError, ValueError, FileNotFoundError) as error:
            raise TemplateError(Fault(f"is no usable tar of a root file system: {error}", str(rootfs))) from error
    to.chmod(0o755)
    return left


@contextmanager
def _opened(file: Path) -> Generator[tarfile.TarFile]:
    with file.open("rb") as raw:
        packed = raw.read(len(MAGIC)) == MAGIC
        raw.seek(0)
        if packed:
            with (
                zstandard.ZstdDecompressor().stream_reader(raw) as stream,
                tarfile.open(fileobj=stream, mode="r|", errors="surrogateescape") as tar,
            ):
                yield tar
        else:
            with tarfile.open(fileobj=raw, mode="r|*", errors="surrogateescape") as tar:
                yield tar


def _filled(builder: Builder, tar: tarfile.TarFile, root: Path) -> Iterator[str]:
    """Put every member where it belongs; yields what is left out."""
    for member in tar:
        path = str(PurePosixPath(member.name.lstrip("/")))
        parts = PurePosixPath(path).parts
        if path == "." or (parts[0] in LEFT_OUT and len(parts) > 1):
            continue
        mode = member.mode & 0o777
        if member.isdir():
            builder.add(Entry(path, "folder", mode=mode))
        elif member.issym():
            builder.add(Entry(path, "link", mode=0o777, target=member.linkname))
        elif member.isreg():
            content = tar.extractfile(member)
            builder.add(Entry(path, "file", member.size, mode), iter(lambda content=content: _next(content), b""))
        elif member.islnk():
            # Copied, since two names of one file would be parted anyhow as soon as a fork changes one of them.
            data = tree.read(root, str(PurePosixPath(member.linkname.lstrip("/"))), BUDGET.file)
            builder.add(Entry(path, "file", len(data), mode), [data])
        else:
            yield f"{path}: device, FIFO or socket"


def _next(content: IO[bytes] | None) -> bytes:
    return content.read(CHUNK) if content else b""
