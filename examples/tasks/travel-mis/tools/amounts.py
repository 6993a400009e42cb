"""How people in India write large numbers."""

from __future__ import annotations


def grouped(number: int) -> str:
    """Indian grouping: ``48,20,000``."""
    digits, tail = divmod(abs(number), 1000)
    groups = [f"{tail:03d}" if digits else str(tail)]
    while digits >= 100:
        digits, pair = divmod(digits, 100)
        groups.insert(0, f"{pair:02d}")
    if digits:
        groups.insert(0, str(digits))
    return ("-" if number < 0 else "") + ",".join(groups)
