"""`connect`: from a judge's settings to a `Chat` that picks the route by the model's name."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Protocol

from rubricgrade.chat.budget import Budget
from rubricgrade.chat.calling import Caller
from rubricgrade.chat.contract import AskFailed, Chat, Reply, Request
from rubricgrade.chat.prices import price_of
from rubricgrade.chat.retrying import Retry
from rubricgrade.chat.routing import Forced, find_endpoint, is_local, pick
from rubricgrade.chat.sharing import Purpose, Shared
from rubricgrade.errors import InputError, MissingExtraError

_OURS = frozenset({
    "model", "messages", "stream", "n", "timeout", "response_format", "max_tokens", "max_completion_tokens",
    "temperature", "tools", "num_retries", "max_retries", "drop_params", "fallbacks", "api_base", "base_url", "api_key",
})  # fmt: skip
"""Names that `extra` can't hold: they have a setting of their own, or would undo what we promise."""


class Options(Protocol):
    """The settings of a judge that decide how it is called."""

    @property
    def model(self) -> str | None:
        """A litellm model name."""
        ...

    @property
    def api_base(self) -> str | None:
        """Another address than the provider's own."""
        ...

    @property
    def api_key(self) -> str | None:
        """The key; None looks into the environment."""
        ...

    @property
    def concurrency(self) -> int:
        """Calls under way at once, over the whole process."""
        ...

    @property
    def per_provider(self) -> int | None:
        """Of these, calls at one place, an origin or a provider; None: as many as there may be at all."""
        ...

    @property
    def per_minute(self) -> float | None:
        """Calls, failed attempts included, that may start in a minute at one place, evenly spaced; None: any number."""
        ...

    @property
    def tokens_per_minute(self) -> float | None:
        """Tokens of the calls that may start in a minute at one place; None: any number."""
        ...

    @property
    def max_cost(self) -> float | None:
        """The cap on costs, in US dollars."""
        ...

    @property
    def extra(self) -> Mapping[str, Any]:
        """Further fields of every call (``reasoning_effort``, ``extra_headers``), and prices by litellm's names."""
        ...


def connect(
    options: Options,
    *,
    retry: Retry | None = None,
    budget: Budget | None = None,
    route: Forced = "auto",
    shared: Shared | None = None,
    purpose: Purpose = "judge",
) -> Chat:
    """Make a way to ask models. Opens nothing; safe to make outside an event loop and to use on several.

    Args:
        options: The judge's settings.
        retry: How patient an ask is.
        budget: A cap that is shared with others; default: one of its own for `options.max_cost`.
        route: ``auto`` takes the built-in route for OpenAI and for endpoints that speak its protocol, and litellm for
            all others; the other two force one.
        shared: Who keeps the limits on calls and costs together with other processes, instead of this process alone.
        purpose: What is asked for; calls for another purpose have a pace of their own.

    Raises:
        InputError: `options.extra` holds what it can't.
        JudgeError: ``no_judge``: no model is named.
        MissingExtraError: The model is to run in this process, and llama.cpp is not installed.
    """
    if not options.model:
        raise AskFailed("No judge model was named.", "no_judge")
    if words := wrong_extra(options.extra):
        raise InputError(words)
    if is_local(options.model) and find_spec("xllamacpp") is None:
        raise MissingExtraError("A judge in this process", "local")
    if budget is None and options.max_cost is not None:
        budget = Budget(options.max_cost)
    return _Connection(options, retry or Retry(), budget, route, shared=shared, purpose=purpose)


def wrong_extra(extra: Mapping[str, Any]) -> str | None:
    """What is wrong with a caller's extra settings, if anything is."""
    bad = sorted(_OURS & set(extra))
    return f"the judge's extra settings can't hold {', '.join(bad)}" if bad else None


def preload(options: Options) -> None:
    """Start importing litellm in the background, if the judge needs it, while there is other work to do."""
    if options.model and not is_local(options.model) and find_endpoint(options.model, options.api_base) is None:
        from rubricgrade.chat.providers import load  # noqa: PLC0415 - only for those who need it

        threading.Thread(target=load, name="litellm import", daemon=True).start()


class _Connection:
    """A `Caller` for every model that is asked."""

    def __init__(
        self,
        options: Options,
        retry: Retry,
        budget: Budget | None,
        route: Forced,
        *,
        shared: Shared | None,
        purpose: Purpose,
    ) -> None:
        self._options = options
        self._retry = retry
        self._budget = budget
        self._route: Forced = route
        self._shared = shared
        self._purpose: Purpose = purpose
        self._callers: dict[str, Caller] = {}

    async def ask(self, request: Request) -> Reply:
        caller = self._callers.get(request.model)
        if caller is None:
            caller = self._callers.setdefault(request.model, self._caller(request.model))
        return await caller.ask(request)

    def _caller(self, model: str) -> Caller:
        options = self._options
        route, place = pick(model, base=options.api_base, key=options.api_key, extra=options.extra, forced=self._route)
        return Caller(
            model,
            route,
            place,
            self._purpose,
            # A model in this process reads one prompt at a time.
            limit=1 if is_local(model) else min(options.per_provider or options.concurrency, options.concurrency),
            total=options.concurrency,
            per_minute=options.per_minute,
            tokens_per_minute=options.tokens_per_minute,
            retry=self._retry,
            # One keeper of the cap: what is set aside here would stay so when the others refuse the call.
            budget=None if self._shared else self._budget,
            price=price_of(model, options.extra),
            shared=self._shared,
        )
