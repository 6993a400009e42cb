"""Exit codes of every command."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """How a command ended."""

    DONE = 0
    BELOW = 1
    BAD_INPUT = 2
    UNGRADED = 3
    COST_CAP = 4
    INTERRUPTED = 130
