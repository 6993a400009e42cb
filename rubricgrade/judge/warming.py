"""Calls that share a prefix: the first goes alone, so that the provider's cache holds it when the others come."""

from __future__ import annotations

import asyncio

from rubricgrade.chat.contract import Chat, Reply, Request


class Warming:
    """A `Chat` of one grade.

    Args:
        chat: Makes the calls.
    """

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._replied: dict[tuple[str, str], asyncio.Event] = {}

    async def ask(self, request: Request) -> Reply:
        """As `Chat.ask`; requests with the same model and `cache_key` share a prefix."""
        prefix = (request.model, request.cache_key)
        if replied := self._replied.get(prefix):
            await replied.wait()
            return await self._chat.ask(request)
        first = self._replied[prefix] = asyncio.Event()
        try:
            return await self._chat.ask(request)
        finally:
            first.set()
