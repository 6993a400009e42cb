"""Folders below one that somebody has named: made where they are missing, and never reached over a link.

What lies below may have been put there by anybody, an agent or whoever sent it, and must not lead our files away. The
named folder itself may be a link: that is its owner's choice.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def opened_below(top: Path, parts: tuple[str, ...]) -> tuple[int, bool]:
    """A handle of the folder at a path below `top`.

    Args:
        top: The folder that was named; made if it is missing.
        parts: Names of the folders on the way, at least one.

    Returns:
        The handle, and whether the folder is new, and so empty.

    Raises:
        OSError: It can't be made or opened; a link or a file is in the way; or the path leads upwards.
    """
    if ".." in parts:
        raise OSError(errno.EINVAL, f"{'/'.join(parts)} leads out of {top}")
    handle, new = _opened(str(top / parts[0]), None)
    for name in parts[1:]:
        above = handle
        try:
            handle, new = _opened(name, above)
        finally:
            os.close(above)
    return handle, new


def _opened(name: str, above: int | None) -> tuple[int, bool]:
    try:
        new = _made(name, above)
        return os.open(name, FOLDER, dir_fd=above), new
    except NotADirectoryError:
        raise NotADirectoryError(errno.ENOTDIR, f"{Path(name).name} is a link or no folder") from None


def _made(name: str, above: int | None) -> bool:
    try:
        os.mkdir(name, dir_fd=above)
    except FileExistsError:
        return False
    except FileNotFoundError:
        if above is not None:
            raise
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        return _made(name, above)
    return True
