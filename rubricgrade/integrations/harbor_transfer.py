"""Harbor: files on their way into and out of a sandbox, as tar archives. What comes out was made by an agent."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path, PurePosixPath


def read(source: Path) -> tuple[bytes, int]:
    """A file's bytes and mode."""
    return source.read_bytes(), source.stat().st_mode & 0o777


def write(target: Path, data: bytes, mode: int) -> None:
    """Write a file that we can read, whatever its mode says, with the folders above it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    target.chmod(mode | 0o600)


def pack(source: Path) -> bytes:
    """The content of a folder of ours."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        tar.add(source, ".")
    return packed.getvalue()


def unpack(packed: bytes, target: Path) -> None:
    """Restore an archive into a folder.

    Only files and folders are made: where no link is, nothing that an agent has named leads out of the target.
    """
    target.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        for member in tar:
            path = PurePosixPath(member.name)
            if path.is_absolute() or ".." in path.parts:
                continue
            if member.isdir():
                (target / path).mkdir(parents=True, exist_ok=True)
            elif (content := tar.extractfile(member) if member.isreg() else None) is not None:
                write(target / path, content.read(), member.mode & 0o777)
