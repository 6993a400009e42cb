"""Errors that tell of the host's own state, raised as what they mean for a sandbox."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Generator
from contextlib import contextmanager

from rubricgrade.errors import SandboxLost, SandboxUnavailable, is_of_the_host

NO_ROOM = frozenset({errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Numbers of errors in starting something that may well be started at another time."""
NO_THREAD = "can't start new thread"
"""How Python says that the host has no room for another one."""
LONGEST = 300
"""Characters of an error: copying a folder to a full disk fails once for each of its files."""


@contextmanager
def unavailable() -> Generator[None]:
    """While a sandbox is being made. Raises `SandboxUnavailable` for what is the host's, and all else as it is."""
    try:
        yield
    except OSError as error:
        if isinstance(error, shutil.Error) or is_of_the_host(error) or error.errno in NO_ROOM:
            raise SandboxUnavailable(f"this host fails: {str(error)[:LONGEST]}", short=True) from error
        raise
    except RuntimeError as error:
        if str(error) == NO_THREAD:
            raise SandboxUnavailable(f"this host fails: {error}", short=True) from error
        raise


@contextmanager
def lost() -> Generator[None]:
    """While our side of a running sandbox is at work. Raises `SandboxLost` for what is the host's, as above."""
    try:
        yield
    except OSError as error:
        if is_of_the_host(error):
            raise SandboxLost(f"this host fails: {error}", by_host=True) from error
        raise
