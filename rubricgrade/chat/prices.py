"""What a call costs, by the price list that litellm carries, read without importing it and without the network.

A model that is not on the list has no price: its cost is unknown, which is not 0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rubricgrade.chat.tokens import Tokens

_LIST = "model_prices_and_context_window_backup.json"


_Steps = tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Price:
    """Prices in US dollars per token, each as steps: (input tokens above which it holds, price), lowest first."""

    input: _Steps
    cached: _Steps
    written: _Steps
    output: _Steps

    def cost(self, tokens: Tokens) -> float:
        """What an answer with these tokens cost."""
        cached = min(tokens.cached, tokens.input)
        written = min(tokens.written, tokens.input - cached)
        return (
            (tokens.input - cached - written) * _at(self.input, tokens.input)
            + cached * _at(self.cached, tokens.input)
            + written * _at(self.written, tokens.input)
            + tokens.output * _at(self.output, tokens.input)
        )


_FREE = Price(((0, 0.0),), ((0, 0.0),), ((0, 0.0),), ((0, 0.0),))


def _at(steps: _Steps, input_tokens: int) -> float:
    return [price for floor, price in steps if input_tokens > floor or not floor][-1]


def price_of(model: str, extra: Mapping[str, Any]) -> Price | None:
    """A model's price: the caller's own (litellm's names in `extra`), else the list's, else None.

    A model that runs in this process is free.
    """
    if model.startswith("local:"):
        return _FREE
    for fields in (extra, listing(model)):
        full, output = _steps(fields, "input_cost_per_token"), _steps(fields, "output_cost_per_token")
        if full and output:
            cached = _steps(fields, "cache_read_input_token_cost") or full
            written = _steps(fields, "cache_creation_input_token_cost") or full
            return Price(full, cached, written, output)
    return None


def _steps(fields: Mapping[str, Any], name: str) -> _Steps:
    """A price's steps by litellm's names (``<name>``, ``<name>_above_<n>k_tokens``); empty without a first one."""
    pattern = re.compile(f"{name}(?:_above_(\\d+)k_tokens)?")
    steps = {
        int(match[1] or 0) * 1000: float(value)
        for key, value in fields.items()
        if (match := pattern.fullmatch(key)) and isinstance(value, int | float)
    }
    return tuple(sorted(steps.items())) if 0 in steps else ()


def is_rate(name: str) -> bool:
    """Whether a field's name is that of a price, which is no part of a request."""
    return "cost_per_token" in name or "input_token_cost" in name


@lru_cache(maxsize=256)
def listing(model: str) -> Mapping[str, Any]:
    """What the list says about a model, such as ``litellm_provider`` and ``mode``; empty when it is not on it."""
    models = _read()
    provider, _, name = model.partition("/")
    if model in models:
        return models[model]
    fields = models.get(name, {})
    return fields if str(fields.get("litellm_provider", "")).startswith(provider) else {}


@cache
def listed() -> Mapping[str, str | None]:
    """Every name on the list with its mode (``chat``, ``embedding``)."""
    return {name: fields.get("mode") for name, fields in _read().items()}


def _read() -> dict[str, dict[str, Any]]:
    """The list. It is not kept: it takes many megabytes, and few models of it are ever asked for."""
    spec = find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        return {}
    path = Path(next(iter(spec.submodule_search_locations)), _LIST)
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
