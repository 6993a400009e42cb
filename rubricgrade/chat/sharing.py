"""Limits on calls that several processes keep together, beside those that each keeps for itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Ask:
    """One attempt at a call, before it is made.

    Attributes:
        model: Named in errors.
        place: What shares slots: an origin or a provider.
        limit: Calls that may be under way at that place when this one starts.
        per_minute: Calls that may start there in a minute; None sets no pace.
        estimate: US dollars that it is expected to cost; None if its price is not known.
    """

    model: str
    place: str
    limit: int
    per_minute: float | None
    estimate: float | None


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
