"""The route to every provider that litellm knows: its translation of requests and replies, without its retries.

litellm takes seconds to import, so it is imported on the first call, in a thread.
"""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from inspect import isawaitable
from typing import Any, cast

from rubricgrade.chat.compatible import response_format
from rubricgrade.chat.contract import Request
from rubricgrade.chat.encoding import plain
from rubricgrade.chat.faults import Fault, Part, from_status, refused_part, shown
from rubricgrade.chat.loops import PerLoop
from rubricgrade.chat.reading import Answer, check_body, read_completion

_BREAKPOINTS = 4
"""Cache breakpoints that Anthropic takes in one request."""

_GRACE = 5.0
"""Seconds that litellm has to notice a timeout by itself."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A model by litellm's name.

    Attributes:
        model: With the provider's prefix where litellm needs it.
        base: Another address than the provider's own, by the caller.
        key: The caller's key; None lets litellm look into the environment.
        extra: Arguments of every call, as the caller wants them.
        breakpoints: Whether the model takes ``cache_control`` marks.
        routing: Whether it takes ``prompt_cache_key``.
    """

    model: str
    base: str | None = None
    key: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    breakpoints: bool = False
    routing: bool = False

    @property
    def shown_base(self) -> str:
        """Where it is, as it may be shown."""
        return (self.base or "").rpartition("@")[2] or "its provider"

    async def ready(self) -> None:
        """Import litellm without holding up the event loop."""
        if not load.cache_info().currsize:
            await asyncio.to_thread(_loaded)

    async def send(self, request: Request, left_out: Collection[Part]) -> Answer:
        """As `Route.send`."""
        litellm = load()
        from rubricgrade.chat.bounds import bounded  # noqa: PLC0415 - httpx is for those who need it

        await _afterwork.get()
        try:
            with bounded(request.on_begin) as bodies:
                async with asyncio.timeout(request.timeout + _GRACE):
                    response = await litellm.acompletion(**self._arguments(request, left_out))
        except TimeoutError:
            raise Fault("timeout", f"no answer within {request.timeout:g} s", maybe_billed=True) from None
        except Exception as error:  # noqa: BLE001 - providers' code raises anything; nothing untyped may leave
            raise self._fault(error) from None
        for body in bodies:
            check_body(body)
        return read_completion(response.model_dump(), key=self.key, checked=True)

    def _arguments(self, request: Request, left_out: Collection[Part]) -> dict[str, Any]:
        arguments: dict[str, Any] = dict(self.extra)
        arguments.update(
            model=self.model,
            messages=_messages(request.messages, breakpoints=self.breakpoints),
            timeout=request.timeout,
            num_retries=0,
            max_retries=0,
            # What a model does not take shall be an error: we leave it out ourselves and say so.
            drop_params=False,
        )
        if self.base:
            arguments["api_base"] = self.base
        if self.key:
            arguments["api_key"] = self.key
        if request.max_tokens is not None:
            arguments["max_completion_tokens" if "max_tokens" in left_out else "max_tokens"] = request.max_tokens
        if request.temperature is not None and "temperature" not in left_out:
            arguments["temperature"] = request.temperature
        if request.schema is not None and "schema" not in left_out:
            arguments["response_format"] = response_format(request.schema)
        if request.tools:
            arguments["tools"] = list(request.tools)
        if request.cache_key and self.routing and "cache_key" not in left_out:
            arguments["prompt_cache_key"] = request.cache_key
        return arguments

    def _fault(self, error: Exception) -> Fault:
        name, text = type(error).__name__, str(error).partition("Traceback (most recent call last)")[0]
        status = getattr(error, "status_code", None)
        # The one place where every provider's headers are, in every version.
        headers: Mapping[str, str] = getattr(error, "litellm_response_headers", None) or {}
        match name:
            case "Timeout":
                return Fault("timeout", shown(text, self.key), maybe_billed=True)
            case "ContextWindowExceededError":
                return Fault("too_long", shown(text, self.key))
            case "ContentPolicyViolationError":
                return Fault("bad_request", shown(text, self.key), filtered=True)
            case "UnsupportedParamsError":
                return Fault("bad_request", shown(text, self.key), refuses=refused_part(text), sent=False)
            case "APIConnectionError" if "No module named" in text or "pip install" in text:
                return Fault("bad_request", shown(text, self.key), sent=False)
            case "APIConnectionError":
                # litellm's name for whatever it did not expect, a reply that it can't read included.
                return Fault("unreachable", shown(text, self.key), maybe_billed=True)
            case _ if isinstance(status, int) and not isinstance(error, ImportError):
                return from_status(status, text, headers, key=self.key)
            case _:
                return Fault("bad_request", f"{name}: {shown(text, self.key)}")


@cache
def load() -> Any:
    """Import litellm, which takes seconds, and keep it from printing and from fetching lists over the network."""
    for name in ("LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS"):
        os.environ.setdefault(name, "True")
    litellm: Any = importlib.import_module("litellm")
    litellm.suppress_debug_info = True
    from rubricgrade.chat.bounds import bound_litellm  # noqa: PLC0415 - httpx is for those who need it

    bound_litellm()
    return litellm


def _loaded() -> Any:
    """As `load`. Raises `Fault`."""
    try:
        return load()
    except Exception as error:  # noqa: BLE001 - a broken installation fails in any way
        raise Fault("bad_request", f"litellm can't be imported: {type(error).__name__}: {error}") from None


def knows(model: str, base: str | None) -> bool:
    """Whether litellm finds a provider for a model's name. Imports litellm.

    Args:
        model: As the caller wrote it.
        base: The caller's API base, which may tell.

    Raises:
        Fault: litellm can't be imported.
    """
    litellm = _loaded()
    if model.partition("/")[0] in litellm.provider_list:
        # Known by its prefix. Some providers begin to log in when they are looked up any further.
        return "/" in model
    try:
        litellm.get_llm_provider(model, api_base=base)
    except Exception:  # noqa: BLE001 - what it raises for an unknown name is its own affair
        return False
    return True


def _logging_worker() -> Any:
    return importlib.import_module("litellm.litellm_core_utils.logging_worker").GLOBAL_LOGGING_WORKER


async def _tidy(worker: Any) -> None:
    await worker.clear_queue()
    cache = load().in_memory_llm_clients_cache
    mine = cache.update_cache_key_with_event_loop("")
    for key in [key for key in [*cache.cache_dict] if key.endswith(mine)]:
        client = cache.cache_dict.pop(key)
        if isawaitable(closing := client.close() if hasattr(client, "close") else None):
            await closing


_afterwork: PerLoop[Any] = PerLoop(_logging_worker, _tidy)
"""What litellm leaves behind when a loop ends must not pile up: it finishes each call in the background, and keeps a
client for each provider and loop, with open connections, by a key that ends in the loop's own."""


def _messages(messages: tuple[Mapping[str, Any], ...], *, breakpoints: bool) -> list[dict[str, Any]]:
    """The messages without their marks, or with a cache breakpoint for each (the last few, if there are too many)."""
    marked = [index for index, message in enumerate(messages) if message.get("cache") and breakpoints][-_BREAKPOINTS:]
    unmarked = [plain(message) for message in messages]
    for index in marked:
        content = unmarked[index]["content"]
        parts = cast(
            "list[dict[str, Any]]", content if isinstance(content, list) else [{"type": "text", "text": content}]
        )
        unmarked[index]["content"] = [*parts[:-1], {**parts[-1], "cache_control": {"type": "ephemeral"}}]
    return unmarked
