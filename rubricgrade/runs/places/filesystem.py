"""fsspec as far as a run needs it: opened without a cache of listings, typed, and with its many errors as ours."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Protocol, cast
from urllib.parse import urlsplit, urlunsplit

from rubricgrade.errors import Fault, InputError, MissingExtraError, StoreError

USERINFO = re.compile(r"//[^/\s@]*@")
LONGEST = 500


class FileSystem(Protocol):
    """The part of ``fsspec.AbstractFileSystem`` that is used here. Paths are without the protocol."""

    def cat_file(self, path: str) -> bytes:
        """A file's bytes; `FileNotFoundError` if there is none."""
        ...

    def cat_ranges(
        self, paths: Sequence[str], starts: Sequence[None], ends: Sequence[None], *, on_error: str
    ) -> list[bytes]:
        """The bytes of several files, whole with None as start and end, fetched at once where the store can.

        Unlike `cat`, takes no path for a pattern.
        """
        ...

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite") -> None:
        """Write a file whole; with mode ``create`` raises `FileExistsError` if there is one."""
        ...

    def put_file(self, lpath: str, rpath: str) -> None:
        """Upload a file."""
        ...

    def get_file(self, rpath: str, lpath: str) -> None:
        """Download a file."""
        ...

    def find(self, path: str) -> list[str]:
        """All files below a path; empty if there are none."""
        ...

    def rm_file(self, path: str) -> None:
        """Remove a file."""
        ...


def opened(url: str) -> tuple[FileSystem, str]:
    """The file system of a URL, and the path in it. Keys and addresses come from where the store's library looks.

    Raises:
        InputError: fsspec does not know the protocol, or lacks a package for it.
        MissingExtraError: fsspec, or s3fs for S3, is not installed.
    """
    try:
        fsspec: Any = import_module("fsspec.core")
    except ModuleNotFoundError as error:
        raise MissingExtraError("A run that lives at a URL", "cloud") from error
    try:
        # Others write too: what was listed a moment ago says nothing.
        found = fsspec.url_to_fs(url, use_listings_cache=False)
    except ImportError as error:
        if url.startswith(("s3:", "s3a:")):
            raise MissingExtraError("A run on S3", "cloud") from error
        raise InputError(Fault(f"its store needs another package: {error}", shown(url))) from error
    except ValueError as error:
        raise InputError(Fault(f"can't be used: {cleaned(str(error))}", shown(url))) from error
    return cast("tuple[FileSystem, str]", found)


def shown(url: str) -> str:
    """A URL fit to be shown and kept: without user name, password and query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", "")) or url


def cleaned(text: str) -> str:
    """A store's own message on one line, without what stands before the host of a URL in it."""
    return USERINFO.sub("//", " ".join(text.split()))[:LONGEST]


@contextmanager
def store_errors(doing: str, *, but: tuple[type[Exception], ...] = ()) -> Generator[None]:
    """Raise what a store raises as `StoreError`.

    Args:
        doing: What is tried, such as ``can't read s3://bucket/runs/x``.
        but: What is raised as it is.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, (StoreError, *but)):
            raise
        # Every store's library has errors of its own, many of which are no OSError.
        raise StoreError(f"{doing}: {cleaned(str(error)) or type(error).__name__}") from error
