"""Content hashes: the canonical JSON of a value, and SHA-256 over it."""

from __future__ import annotations

import hashlib
import json
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
