"""From what a caller names as a run's place to the place."""

from __future__ import annotations

import re
from os import PathLike, fspath
from pathlib import Path

from rubricgrade.errors import Fault, InputError
from rubricgrade.runs.places.contract import Place
from rubricgrade.runs.places.local import LocalPlace

Where = str | PathLike[str] | Place
"""A folder, the URL of one (as text), or a place."""

URL = re.compile(r"(?P<protocol>[A-Za-z][A-Za-z0-9+.-]+):(?P<slashes>/+)")


def place_of(where: Where) -> Place:
    """The place that a caller means. Nothing is made or contacted.

    Args:
        where: A folder; ``file://...``; any other URL that fsspec knows, with the extra ``cloud``; or a place.

    Raises:
        InputError: It is the URL of a store that is not known, or no URL any more.
        MissingExtraError: It is a URL, and fsspec or what it needs for S3 is not installed.
    """
    if not isinstance(where, str | PathLike):
        return where
    text = fspath(where)
    found = URL.match(text)
    if found is None:
        return LocalPlace(Path(text))
    if found["slashes"] == "/":
        raise InputError(Fault("looks like a URL that was taken for a path: give it as text, with '://'", text))
    if found["protocol"] in ("file", "local"):
        return LocalPlace(Path(text.removeprefix(f"{found['protocol']}://")))
    from rubricgrade.runs.places.remote import RemotePlace  # noqa: PLC0415 - brings in fsspec, for those who need it

    return RemotePlace.of(text)
