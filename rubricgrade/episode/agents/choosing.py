"""From an agent's name as it is written on a command line to the agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rubricgrade.chat import Budget, Shared, connect
from rubricgrade.episode.agents.command import CommandAgent
from rubricgrade.episode.agents.proving import Nop, Oracle
from rubricgrade.episode.agents.replay import Replay
from rubricgrade.episode.agents.tool_loop import ToolLoop
from rubricgrade.episode.stage import Agent
from rubricgrade.errors import Fault, InputError

KINDS = "litellm:MODEL, command:'...', replay, replay:DIR, oracle or nop"


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """How an agent's model is called; see `chat.Options`.

    Attributes:
        model: A litellm model name.
        api_base: Address of an OpenAI-compatible endpoint.
        api_key: Its key; else the provider's environment variable.
        concurrency: Calls at a time, over all episodes.
        per_provider: Of these, calls at a time to one place; one model has one place.
        per_minute: Calls, failed attempts included, that may start in a minute, over all episodes; None sets no pace.
        tokens_per_minute: Tokens of the calls that may start in a minute; None sets no limit.
        max_cost: US dollars for all episodes together, after which no call is made.
        temperature: Sent only if given.
        max_tokens: Of one reply.
        extra: Further fields of every call.
    """

    model: str | None = None
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)
    concurrency: int = 8
    per_provider: int | None = None
    per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_cost: float | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


def choose_agent(name: str, options: ModelOptions | None = None, *, shared: Shared | None = None) -> Agent:
    """The agent that a name stands for.

    Args:
        name: One of `KINDS`.
        options: For an agent with a model; the model's name in `name` counts.
        shared: Limits on calls that other processes keep too.

    Raises:
        InputError: There is no such agent.
        JudgeError: The model can't be reached as it is named.
    """
    kind, _, rest = name.partition(":")
    match kind:
        case "litellm" if rest:
            options = replace(options or ModelOptions(), model=rest)
            budget = None if options.max_cost is None else Budget(options.max_cost)
            chat = connect(options, budget=budget, shared=shared, purpose="agent")
            return ToolLoop(rest, chat, options.temperature, options.max_tokens, called=options)
        case "command" if rest:
            return CommandAgent(rest)
        case "replay":
            if rest and not Path(rest).is_dir():
                raise InputError(Fault("no such folder to replay from", rest))
            return Replay(Path(rest) if rest else None)
        case "oracle" if not rest:
            return Oracle()
        case "nop" if not rest:
            return Nop()
        case _:
            raise InputError(f"no agent is called {name!r}; there is {KINDS}")
