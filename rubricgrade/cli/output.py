"""Where the program writes: results on stdout, everything else on stderr, in whatever encoding the two have."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

from rubricgrade.errors import InputError, RubricgradeError


def prepare_streams() -> None:
    r"""Make printing safe in every encoding: what a console can't show appears as ``\u65e5``, never as a crash."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def print_json(document: Any) -> None:
    """One JSON document on stdout, in ASCII: the same bytes in every encoding, and nothing that a terminal obeys."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False) + "\n")


def note(text: str) -> None:
    """Text on stderr; it may hold what others wrote."""
    from rubricgrade.report.visible import visible

    sys.stderr.write(visible(text, lines=True) + "\n")
    sys.stderr.flush()


def complain(error: RubricgradeError) -> None:
    """Say on stderr what went wrong, a line for every fault."""
    if not isinstance(error, InputError):
        note(f"error: {error}")
        return
    for fault in error.faults:
        note(f"error: {fault}")
