"""For the bench: the requests of its `raw_aiohttp` through `rubricgrade.chat` alone (opts: {"route": "litellm"})."""

from __future__ import annotations

import asyncio
from typing import Any

import common

from rubricgrade import JudgeOptions
from rubricgrade.chat import Request, connect


async def run(trajectories: Any, criteria: Any, concurrency: int, base: str, opts: dict[str, Any]) -> dict[Any, Any]:
    """Decide every criterion of every trajectory; one task per decision, the limit is `chat`'s own."""
    options = JudgeOptions(model="openai/gpt-4o-mini", api_base=base, api_key="sk", concurrency=concurrency)
    chat = connect(options, route=opts.get("route", "auto"))
    schema = common.SCHEMA["json_schema"]["schema"]

    async def one(trajectory: Any, criterion: Any) -> tuple[Any, Any]:
        messages = tuple(common.messages(criterion, trajectory))
        request = Request("openai/gpt-4o-mini", messages, schema, temperature=0)
        for _ in range(3):  # a reply that came but can't be read is the judge's to ask again, not the chat's
            try:
                return (trajectory["id"], criterion[0]), common.verdict((await chat.ask(request)).text)
            except ValueError:
                continue
        return (trajectory["id"], criterion[0]), "unreadable"

    return dict(
        await asyncio.gather(*(one(trajectory, criterion) for trajectory in trajectories for criterion in criteria))
    )
