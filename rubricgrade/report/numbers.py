"""Numbers for people: points, scores, seconds and money, rounded without ever claiming more than is true."""

from __future__ import annotations

from decimal import Decimal

from rubricgrade.plural import count

__all__ = ["count", "money", "number", "seconds", "span", "total"]

PLACES = 4


def number(value: float) -> str:
    """At most four decimals. A number that only rounding would make whole (0.99999) is written out instead."""
    if value == int(value):
        return str(int(value))
    rounded = round(value, PLACES)
    if rounded == int(rounded):
        return repr(value)
    return f"{rounded:.{PLACES}f}".rstrip("0")


def total(values: list[float]) -> float:
    """The sum of the numbers as written: 0.1 and 0.2 make 0.3."""
    return float(sum((Decimal(repr(value)) for value in values), Decimal(0)))


def span(bounds: tuple[float, float]) -> str:
    """``0.25 to 0.75``; one number when both ends are equal."""
    low, high = bounds
    return number(low) if low == high else f"{number(low)} to {number(high)}"


def money(cost: float | None) -> str:
    """US dollars; unknown is said, never shown as 0."""
    if cost is None:
        return "unknown"
    return f"${cost:.4f}" if cost and cost < 1 else f"${cost:.2f}"


def seconds(value: float) -> str:
    """Wall time."""
    return f"{value:.1f} s" if value >= 1 else f"{value * 1000:.0f} ms"
