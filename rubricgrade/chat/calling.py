"""One model as it is called: every attempt under the process's limit and the budget, retried, its cost counted."""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

from rubricgrade.chat.budget import Budget
from rubricgrade.chat.contract import AskFailed, Kind, Reply, Request
from rubricgrade.chat.faults import Fault, Part
from rubricgrade.chat.pacing import gap
from rubricgrade.chat.place import places
from rubricgrade.chat.prices import Price
from rubricgrade.chat.reading import Answer
from rubricgrade.chat.retrying import Retry
from rubricgrade.chat.sharing import Ask, Purpose, Shared
from rubricgrade.chat.silence import Silence
from rubricgrade.chat.tokens import Tokens
from rubricgrade.result import NO_USAGE, Usage

_LEFT_OUT: dict[Part, str] = {
    "schema": "the JSON schema was not sent: the model does not take one",
    "temperature": "the temperature was not sent: the model does not take one",
    "cache_key": "the cache key was not sent: the model does not take one",
}
_REMEDIES: dict[Kind, str] = {
    "too_long": "The prompt does not fit the model's context: show it less, or take a model with a longer one.",
    "auth": "Check the API key, and what it is allowed and paid for.",
    "not_found": "Check the model's name and the API base.",
    "bad_request": "The request is refused as it stands; asking again would not help.",
    "rate_limited": "Ask for fewer calls at once, or try again later.",
    "server": "Nothing is wrong on this side; try again later.",
    "timeout": "Give it more time, or show it less.",
    "unreachable": "Check that the API base is right, and what runs there.",
    "unreadable": "Check that what answers at the API base is a model.",
}
_FEWEST_BYTES_PER_TOKEN = 3
"""Of UTF-8, in nearly all texts and models."""
_IMAGE = 4500
"""Bytes that cost as much as an image does."""
_EXPECTED_OUTPUT = 500
"""Tokens that a reply without a limit is expected to have before any was seen."""


class Route(Protocol):
    """A way to make one attempt."""

    @property
    def shown_base(self) -> str:
        """Where the model is, fit to be shown."""
        ...

    async def ready(self) -> None:
        """Do what must be done once, before the first attempt. Raises `Fault`."""
        ...

    async def send(self, request: Request, left_out: Collection[Part]) -> Answer:
        """Make one attempt.

        Args:
            request: What to ask.
            left_out: Parts that this model is known to refuse.

        Raises:
            Fault: There is no answer.
        """
        ...


@dataclass(slots=True)
class _Tally:
    """What the attempts of one ask took."""

    usage: Usage = NO_USAGE

    def add(self, seconds: float, tokens: Tokens | None, cost: float | None, *, sent: bool) -> None:
        tokens = tokens or Tokens()
        self.usage += Usage(
            calls=int(sent),
            input_tokens=tokens.input,
            cached_tokens=tokens.cached,
            output_tokens=tokens.output,
            cost=cost,
            seconds=seconds,
        )


@dataclass(slots=True)
class Caller:
    """One model by one route.

    Attributes:
        model: As the caller names it.
        route: How it is reached.
        place: What shares its slots: an origin or a provider.
        purpose: What it is asked for.
        limit: Calls under way at once at that place.
        total: Calls for that purpose under way at once at all places together.
        per_minute: Calls that may start there in a minute for that purpose.
        tokens_per_minute: Tokens of the calls that may start there in a minute for that purpose.
        retry: How patient an ask is.
        budget: The cap on costs; None sets none.
        price: What it costs; None is unknown.
        shared: Who keeps the limits together with other processes; None for this process alone.
    """

    model: str
    route: Route
    place: str
    purpose: Purpose
    limit: int
    total: int
    per_minute: float | None = None
    tokens_per_minute: float | None = None
    retry: Retry = field(default_factory=Retry)
    budget: Budget | None = None
    price: Price | None = None
    shared: Shared | None = None
    _left_out: set[Part] = field(default_factory=set[Part])
    _silence: Silence = field(default_factory=Silence)
    _uncounted: Ask = field(init=False)

    def __post_init__(self) -> None:
        self._uncounted = Ask(
            self.purpose, self.model, self.place, self.limit, self.total, self.per_minute, estimate=None
        )

    async def ask(self, request: Request) -> Reply:
        """As `Chat.ask`."""
        self._silence.check()
        try:
            reply = await self._ask(request)
        except AskFailed as failure:
            self._silence.failed(failure)
            raise
        self._silence.broken()
        return reply

    async def _ask(self, request: Request) -> Reply:
        tally = _Tally()
        try:
            await self.route.ready()
            try:
                return await self._adapted(request, tally)
            except Fault as fault:
                # Most calls go well, and the loop costs as much as all the rest around a call.
                return await self._again(request, tally, fault)
        except Fault as fault:
            if fault.filtered:
                return Reply("", "filtered", self.model, tally.usage, notes=(fault.detail,))
            raise AskFailed(self._told(fault, tally.usage.calls), fault.kind, tally.usage) from None
        except AskFailed as stopped:
            raise AskFailed(str(stopped), stopped.kind, tally.usage) from None

    async def _again(self, request: Request, tally: _Tally, fault: Fault) -> Reply:
        """The attempts after one that failed, with the waits between them."""
        failed = [fault]

        async def attempt() -> Reply:
            if failed:
                raise failed.pop()
            return await self._adapted(request, tally)

        return await self.retry.loop(lambda: tally.usage.seconds)(attempt)

    async def _adapted(self, request: Request, tally: _Tally) -> Reply:
        """One attempt, made again at once without a part that turns out to be refused."""
        left_out = set(self._left_out)
        while True:
            try:
                answer = await self._attempt(request, left_out, tally)
            except Fault as fault:
                if fault.refuses is None or fault.refuses in left_out or not _has(request, fault.refuses):
                    raise
                left_out.add(fault.refuses)
                continue
            # Remembered only now: an error text may name a part that was not at fault.
            self._left_out |= left_out
            return Reply(
                answer.text,
                answer.finish,
                answer.model or self.model,
                tally.usage,
                answer.reasoning,
                _notes(request, left_out) if left_out else (),
                answer.calls,
            )

    async def _attempt(self, request: Request, left_out: Collection[Part], tally: _Tally) -> Answer:
        asked = self._asked(request)
        async with nullcontext() if self.shared else places().call(asked):
            reserved = await self.budget.take(self.model, asked.estimate) if self.budget else 0.0
            ticket = await self.shared.take(asked) if self.shared else ""
            started = time.monotonic()
            tokens: Tokens | None = None
            cost: float | None = None
            sent = True
            try:
                answer = await self.route.send(request, left_out)
                tokens = _believed(answer.tokens, request, _written(answer))
                cost = self._cost(tokens)
            except Fault as fault:
                tokens = _believed(fault.tokens, request, int(fault.maybe_billed))
                cost = self._cost(tokens) if tokens or fault.maybe_billed else 0.0
                sent = fault.sent
                raise
            finally:
                tally.add(time.monotonic() - started, tokens, cost, sent=sent)
                if self.budget:
                    self.budget.settle(reserved, cost)
                if self.shared:
                    self.shared.give(ticket, cost)
                elif asked.load and tokens:
                    places().correct(asked, self._load(tokens))
        return answer

    def _asked(self, request: Request) -> Ask:
        if not (self.budget or self.shared or self.tokens_per_minute):
            return self._uncounted
        expected = _expected(request)
        return replace(self._uncounted, estimate=self._cost(expected), load=self._load(expected))

    def _cost(self, tokens: Tokens | None) -> float | None:
        return self.price.cost(tokens) if self.price and tokens else None

    def _load(self, tokens: Tokens | None) -> float:
        """Seconds of a minute's tokens."""
        if self.tokens_per_minute is None or tokens is None:
            return 0.0
        return (tokens.input + tokens.output) * gap(self.tokens_per_minute)

    def _told(self, fault: Fault, calls: int) -> str:
        tries = "" if calls <= 1 else f" ({calls} attempts)"
        return (
            f"{self.model} at {self.route.shown_base}: {fault.detail}{tries}. {_REMEDIES.get(fault.kind, '')}".strip()
        )


def _notes(request: Request, left_out: Collection[Part]) -> tuple[str, ...]:
    """What was left out of a request, in words."""
    return tuple(note for part, note in _LEFT_OUT.items() if part in left_out and _has(request, part))


def _expected(request: Request) -> Tokens:
    """The most tokens that an attempt is expected to take."""
    size = sum(_size(message.get("content")) for message in request.messages)
    return Tokens(input=size // _FEWEST_BYTES_PER_TOKEN, output=request.max_tokens or _EXPECTED_OUTPUT)


def _believed(tokens: Tokens | None, request: Request, written: int) -> Tokens | None:
    """What a server counted, or None where there can't have been so few: then it is as if it had not counted."""
    if tokens is None:
        return None
    read = sum(_characters(message.get("content")) for message in request.messages)
    return tokens if tokens.credible(read, written) else None


def _written(answer: Answer) -> int:
    """Characters that a model must have written."""
    return len(answer.text) + sum(max(len(call.arguments), 1) for call in answer.calls)


def _characters(content: Any) -> int:
    """Characters of a message's text."""
    if isinstance(content, str):
        return len(content)
    parts = cast("list[dict[str, Any]]", content) if isinstance(content, list) else []
    return sum(len(part["text"]) for part in parts if "text" in part)


def _size(content: Any) -> int:
    """Bytes of a message, an image counted as so many."""
    if not isinstance(content, list):
        return len(str(content or "").encode(errors="replace"))
    parts = cast("list[dict[str, Any]]", content)
    return sum(_size(part["text"]) if "text" in part else _IMAGE for part in parts)


def _has(request: Request, part: Part) -> bool:
    match part:
        case "schema":
            return request.schema is not None
        case "temperature":
            return request.temperature is not None
        case "max_tokens":
            return request.max_tokens is not None
        case "cache_key":
            return bool(request.cache_key)
