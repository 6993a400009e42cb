"""Calls that share a prefix: the first goes alone, so that the provider's cache holds it when the others come.

They come when its reply begins: a model that writes has read the whole prompt.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from rubricgrade.chat.contract import Chat, Reply, Request


class Warming:
    """A `Chat` of one grade.

    Args:
        chat: Makes the calls.
    """

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._begun: dict[tuple[str, str], asyncio.Event] = {}

    async def ask(self, request: Request) -> Reply:
        """As `Chat.ask`; requests with the same model and `cache_key` share a prefix."""
        prefix = (request.model, request.cache_key)
        if begun := self._begun.get(prefix):
            await begun.wait()
            return await self._chat.ask(request)
        first = self._begun[prefix] = asyncio.Event()
        try:
            return await self._chat.ask(replace(request, on_begin=first.set))
        finally:
            first.set()
