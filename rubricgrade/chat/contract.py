"""What is asked of a model and what comes back: `Request`, `Reply`, the `Chat` protocol, and `AskFailed`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, Self

from rubricgrade.errors import JudgeError
from rubricgrade.result import NO_USAGE, Usage

Finish = Literal["stop", "length", "refused", "filtered", "empty"]

Kind = Literal[
    "too_long", "auth", "not_found", "bad_request", "rate_limited", "server", "timeout", "unreachable", "unreadable",
    "budget", "no_judge",
]  # fmt: skip
"""Why an ask failed. Only ``rate_limited``, ``server``, ``timeout``, ``unreachable`` and ``unreadable`` are retried."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call as a model wrote it; `arguments` is text that may be no JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model.

    Attributes:
        model: A litellm model name (``openai/gpt-5-mini``, ``anthropic/claude-sonnet-4-5``).
        messages: OpenAI-style messages. ``"cache": True`` on one says that everything up to its end is a prefix which
            other requests share; the mark itself is never sent.
        schema: A JSON schema for the reply; None asks for free text.
        max_tokens: The most that the model may write, its hidden reasoning included; None leaves it to the provider.
        temperature: Sent only when it is not None.
        timeout: Seconds that one attempt may take.
        cache_key: The same for requests that share a prefix; routes them to the same cache where a provider can.
        tools: OpenAI-style function definitions that the model may call.
        on_begin: Called when a good reply begins to come, where the way there tells that; maybe more than once.
    """

    model: str
    messages: tuple[Mapping[str, Any], ...]
    schema: Mapping[str, Any] | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    timeout: float = 120.0
    cache_key: str = ""
    tools: tuple[Mapping[str, Any], ...] = ()
    on_begin: Callable[[], None] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said. Its text is hostile data.

    Attributes:
        text: What it wrote; empty if it wrote nothing.
        finish: ``stop``: it came to its own end. ``length``: it was cut; with an empty text its hidden reasoning used
            all the room. ``refused``, ``filtered``: it, or the provider, would not answer. ``empty``: it said nothing.
        model: The model that answered, as the provider names it.
        usage: Of every attempt of this ask, failed ones included.
        reasoning: Its reasoning, where the provider shows any.
        notes: What was left out of the request because the model does not take it, such as the JSON schema.
        calls: Tools that it wants to be called, in its order.
    """

    text: str
    finish: Finish
    model: str
    usage: Usage = NO_USAGE
    reasoning: str = ""
    notes: tuple[str, ...] = ()
    calls: tuple[ToolCall, ...] = ()


class Chat(Protocol):
    """A way to ask models."""

    async def ask(self, request: Request) -> Reply:
        """Ask once; transient faults are retried inside.

        Raises:
            JudgeError: No reply was to be had (`AskFailed`, which says why and what it took). `cause` is
                ``judge_failed``, ``budget`` or ``no_judge``.
        """
        ...


class AskFailed(JudgeError):
    """An ask that got no reply.

    Attributes:
        kind: What went wrong.
        usage: What its attempts took.
    """

    def __init__(self, message: str, kind: Kind, usage: Usage | None = None) -> None:
        super().__init__(message, kind if kind in ("budget", "no_judge") else "judge_failed")
        self.kind: Kind = kind
        self.usage = usage or NO_USAGE

    def __reduce__(self) -> tuple[type[Self], tuple[str, Kind, Usage]]:  # type: ignore[override]  # other arguments
        return type(self), (str(self), self.kind, self.usage)
