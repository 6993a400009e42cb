"""Amounts in words."""

from __future__ import annotations


def count(amount: int, word: str) -> str:
    """``1 call``, ``2 calls``."""
    return f"{amount} {word}" if amount == 1 else f"{amount} {word}s"
