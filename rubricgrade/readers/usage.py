"""Tokens and money, from each provider's way of counting them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rubricgrade.readers.shapes import as_number, as_object, as_whole
from rubricgrade.trajectory import Usage

INPUT = (
    "input_tokens",
    "input",
    "tokens_sent",
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "inputTokens",
)
OUTPUT = (
    "output_tokens",
    "completion_tokens",
    "output",
    "tokens_received",
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "outputTokens",
)
COST = ("cost_usd", "cost", "instance_cost", "total_cost_usd", "accumulated_cost")
# Providers that count input without what was read from or written to their cache.
BESIDES_INPUT = (
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "input_tokens_cache_write",
    "input_tokens_cache_read",
)
CACHED = (
    "cached_tokens",
    "cache_read_input_tokens",
    "input_tokens_cache_read",
    "cache_read_tokens",
    "cachedInputTokens",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.details.cache_read_tokens",
    "llm.token_count.prompt_details.cache_read",
)


def usage_of(value: Any) -> Usage | None:
    """Usage as any of the known formats writes it; None when it holds nothing known.

    `input_tokens` is everything the model read, cached or not; `cached_tokens` is the part of it that was cached.
    """
    fields = as_object(value)
    if not fields:
        return None
    details = as_object(fields.get("prompt_tokens_details")) or as_object(fields.get("input_tokens_details")) or {}
    read = as_whole(fields.get("prompt_tokens"))
    if read is None:
        read = _first(fields, INPUT)
        if read is not None:
            read += sum(as_whole(fields.get(name)) or 0 for name in BESIDES_INPUT)
    cached = _first(details, CACHED)
    usage = Usage(
        input_tokens=read,
        output_tokens=_first(fields, OUTPUT),
        cached_tokens=_first(fields, CACHED) if cached is None else cached,
        cost=next((cost for cost in (as_number(fields.get(name)) for name in COST) if cost is not None), None),
    )
    return None if usage == Usage() else usage


def beside(value: Any) -> dict[str, Any]:
    """What a usage says that `Usage` has no field for, such as tokens written to the cache; no nulls and zeros."""
    fields = as_object(value) or {}
    read = usage_of(fields) or Usage()
    whole = (read.input_tokens or 0) + (read.output_tokens or 0)
    known = {"prompt_tokens", *INPUT, *OUTPUT, *COST, *CACHED}
    rest = {key: _told(item) for key, item in fields.items() if key not in known}
    if rest.get("total_tokens") == whole:
        del rest["total_tokens"]
    return {key: item for key, item in rest.items() if item}


def _told(value: Any) -> Any:
    """A part of a usage without nulls, zeros and what was cached, which `Usage` holds."""
    if (fields := as_object(value)) is None:
        return value
    return {key: item for key, item in fields.items() if item and key not in CACHED}


def total(usages: Iterable[Usage | None]) -> Usage | None:
    """The sum of what is known; None when nothing is."""
    known = [usage for usage in usages if usage is not None]
    if not known:
        return None

    def add(name: str) -> Any:
        values = [value for value in (getattr(usage, name) for usage in known) if value is not None]
        return sum(values) if values else None

    return Usage(
        input_tokens=add("input_tokens"),
        output_tokens=add("output_tokens"),
        cached_tokens=add("cached_tokens"),
        cost=add("cost"),
    )


def _first(fields: dict[str, Any], names: Iterable[str]) -> int | None:
    return next((count for count in (as_whole(fields.get(name)) for name in names) if count is not None), None)
