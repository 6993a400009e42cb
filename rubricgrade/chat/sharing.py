"""Limits on calls that several processes keep together, beside those that each keeps for itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

Purpose = Literal["judge", "agent"]
"""What a call is for. Each has a pace and a budget of its own."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One attempt at a call, before it is made.

    Attributes:
        purpose: What it is for.
        model: Named in errors.
        place: What shares slots: an origin or a provider.
        limit: Calls that may be under way at that place when this one starts. Callers with different limits share the
            place; each keeps to its own.
        total: Calls for this purpose that may be under way at all places together when this one starts.
        per_minute: Calls that may start there in a minute for this purpose; None sets no pace.
        estimate: US dollars that it may cost at most; None if its price is not known.
        load: Seconds of a minute's tokens that it may take; 0 where they are not limited.
    """

    purpose: Purpose
    model: str
    place: str
    limit: int
    total: int
    per_minute: float | None
    estimate: float | None
    load: float = 0.0


class Shared(Protocol):
    """Whoever keeps the limits."""

    async def take(self, ask: Ask) -> str:
        """Wait until the attempt may be made; returns a ticket that must be given back.

        Raises:
            AskFailed: ``budget``: it would pass the cap on costs.
        """
        ...

    def give(self, ticket: str, cost: float | None) -> None:
        """Say that the attempt is over, and what it did cost in US dollars (None: not known)."""
        ...
