"""Content hashes: the canonical JSON of a value, and SHA-256 over it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def canonical(value: Any) -> bytes:
    """The one JSON text of a value: sorted keys, no spaces, UTF-8, no NaN (raises `ValueError`)."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def of_bytes(data: bytes) -> str:
    """``sha256:<64 hex digits>`` of some bytes."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def of_file(path: Path) -> str:
    """``sha256:<64 hex digits>`` of a file's bytes, whatever its size. Raises `OSError`."""
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def of_value(value: Any) -> str:
    """``sha256:<64 hex digits>`` of a JSON value's canonical text."""
    return of_bytes(canonical(value))


def members(fields: Mapping[str, Any]) -> dict[str, bytes]:
    """The canonical text of each member of an object, by name; what many objects share need be made only once."""
    return {name: canonical(name) + b":" + canonical(value) for name, value in fields.items()}


def of_members(texts: Mapping[str, bytes]) -> str:
    """`of_value` of the object whose `members` these are."""
    return of_bytes(b"{%s}" % b",".join([texts[name] for name in sorted(texts)]))
