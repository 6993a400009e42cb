"""What the tests of this folder share: settings, a request, and running an ask on a loop of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rubricgrade.chat import Ask, Chat, Reply, Request, Retry, connect
from rubricgrade.chat.sharing import Purpose

KEY = "sk-secret-0123456789abcdef"
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answer"],
    "additionalProperties": False,
}
QUICK = Retry(retries=2, first_wait=0.01, longest_wait=0.02, total=30.0)


@dataclass(frozen=True)
class Settings:
    model: str | None = "openai/gpt-4o-mini"
    api_base: str | None = None
    api_key: str | None = KEY
    concurrency: int = 8
    per_minute: float | None = None
    tokens_per_minute: float | None = None
    per_provider: int | None = None
    max_cost: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


def question(**changes: Any) -> Request:
    values: dict[str, Any] = {
        "model": "openai/gpt-4o-mini",
        "messages": (
            {"role": "system", "content": "You judge.", "cache": True},
            {"role": "user", "content": "Is it so?"},
        ),
        "schema": SCHEMA,
        "max_tokens": 64,
        "timeout": 20.0,
        "cache_key": "trajectory-1",
        **changes,
    }
    return Request(**values)


def ask(chat: Chat, request: Request | None = None) -> Reply:
    return asyncio.run(chat.ask(request or question()))


def open_chat(base: str, route: Any = "compatible", **changes: Any) -> Chat:
    options = {name: changes.pop(name) for name in list(changes) if name in Settings.__dataclass_fields__}
    changes.setdefault("retry", QUICK)
    return connect(Settings(api_base=base, **options), route=route, **changes)


def attempt(
    purpose: Purpose = "judge", limit: int = 1, per_minute: float | None = None, *, place: str = "x", total: int = 100
) -> Ask:
    return Ask(purpose, "m", place, limit, total, per_minute, None)


def ask_two(chat: Chat, request: Request) -> list[Reply]:
    """Ask the second time when the reply to the first begins."""

    async def both() -> list[Reply]:
        begun = asyncio.Event()
        first = asyncio.create_task(chat.ask(replace(request, on_begin=begun.set)))
        await asyncio.wait_for(begun.wait(), 20)
        second = await chat.ask(request)
        return [await first, second]

    return asyncio.run(both())
