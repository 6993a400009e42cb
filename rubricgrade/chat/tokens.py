"""What one attempt took, as the server counted it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one attempt, as the server counted them.

    Attributes:
        input: Of the whole prompt, `cached` and `written` included.
        cached: Read from a prefix cache.
        written: Written to a prefix cache, where a provider charges for that.
        output: Hidden reasoning included.
    """

    input: int = 0
    cached: int = 0
    written: int = 0
    output: int = 0
