"""The global limits of one call, kept in one place for all nodes: calls at a time, calls a minute, and what they cost.

`Ledger` runs as one actor; `Teller` is the hand of a node on it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import defaultdict
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

from rubricgrade.chat import Ask, AskFailed, Budget
from rubricgrade.chat.place import Places
from rubricgrade.chat.routing import is_local
from rubricgrade.chat.sharing import Purpose


@dataclass(slots=True)
class _Ticket:
    """A slot that is held or waited for."""

    node: str
    budget: Budget | None
    waiting: asyncio.Task[None]
    held: AsyncExitStack = field(default_factory=AsyncExitStack)
    reserved: float | None = None


class Ledger:
    """Keeps limits. Everything happens on one event loop.

    Args:
        caps: US dollars that may be spent for each purpose; None sets no cap.
    """

    def __init__(self, caps: Mapping[Purpose, float | None]) -> None:
        self._budgets = {purpose: None if cap is None else Budget(cap) for purpose, cap in caps.items()}
        self._places: defaultdict[str, Places] = defaultdict(Places)
        self._tickets: dict[str, _Ticket] = {}

    async def take(self, node: str, ticket: str, ask: Ask) -> AskFailed | None:
        """Wait for a slot, and set aside what the attempt may cost.

        Returns:
            Why the attempt may not be made, if it may not; nothing is held then.
        """
        budget = self._budgets[ask.purpose]
        held = _Ticket(node, budget, asyncio.ensure_future(self._admit(ticket, ask)))
        self._tickets[ticket] = held
        try:
            await held.waiting
        except AskFailed as refused:
            await self.give(ticket, 0.0)
            return refused
        except asyncio.CancelledError:
            await self.give(ticket, 0.0)
            raise
        return None

    async def _admit(self, ticket: str, ask: Ask) -> None:
        found = self._tickets[ticket]
        # A model in a node's own process is in nobody else's way.
        owner = found.node if is_local(ask.place) else ""
        await found.held.enter_async_context(self._places[owner].call(ask))
        if found.budget is not None:
            found.reserved = await found.budget.take(ask.model, ask.estimate)

    async def give(self, ticket: str, cost: float | None) -> None:
        """Take a ticket back, also one that is still waited for.

        Args:
            ticket: Any; one that is not known is no matter.
            cost: US dollars that the attempt did cost; None if that is not known, which counts as expected.
        """
        found = self._tickets.pop(ticket, None)
        if found is None:
            return
        found.waiting.cancel()
        await asyncio.gather(found.waiting, return_exceptions=True)
        if found.budget is not None and found.reserved is not None:
            found.budget.settle(found.reserved, cost)
        await found.held.aclose()

    async def forget(self, node: str) -> None:
        """Take back what a node holds that was lost. What it had asked for counts as paid."""
        for ticket in [name for name, each in self._tickets.items() if each.node == node]:
            await self.give(ticket, None)


@dataclass(frozen=True, slots=True)
class Teller:
    """See `chat.Shared`.

    Attributes:
        ledger: The actor.
        node: Whose hand this is.
    """

    ledger: Any
    node: str

    async def take(self, ask: Ask) -> str:
        """See `chat.Shared.take`."""
        ticket = secrets.token_hex(8)
        try:
            refused = await self.ledger.take.remote(self.node, ticket, ask)
        except asyncio.CancelledError:
            # It may be granted to somebody who has gone.
            self.give(ticket, 0.0)
            raise
        if refused is not None:
            raise refused
        return ticket

    def give(self, ticket: str, cost: float | None) -> None:
        """See `chat.Shared.give`. Nothing is waited for."""
        self.ledger.give.remote(ticket, cost)
