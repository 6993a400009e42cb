"""A model in a loop: it is asked, its tool calls are carried out, it is asked again, until it stops or a limit does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rubricgrade.chat import AskFailed, Chat, Options, Reply, Request
from rubricgrade.chat.askable import trouble
from rubricgrade.episode.limits import End, Limits
from rubricgrade.episode.recording import Recording
from rubricgrade.episode.stage import Script, Stage, read_call
from rubricgrade.episode.tools import cut
from rubricgrade.errors import Fault, InputError
from rubricgrade.trajectory import Call


@dataclass(frozen=True, slots=True)
class ToolLoop:
    """An agent made of a model and a few tools.

    Attributes:
        model: As `chat` knows it.
        chat: The way to it; limits on calls, retries and costs are its own.
        temperature: Sent only when given.
        max_tokens: Of one reply.
        timeout: Seconds of one call.
        called: How the model is called, to find out before anything is begun whether it can be; None if that is the
            caller's own affair.
    """

    model: str
    chat: Chat
    temperature: float | None = None
    max_tokens: int | None = None
    timeout: float = 300.0
    called: Options | None = None
    sees: Literal["task", "solution"] = "task"

    @property
    def name(self) -> str:
        """With all that changes what it does."""
        settings = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        return " ".join([f"litellm:{self.model}", *(f"{k}={v:g}" for k, v in settings.items() if v is not None)])

    def check(self, *, here: bool = True) -> None:
        """Find out, without the network, that the model can be asked.

        Args:
            here: Whether this machine asks it: keys, files and packages are looked for only where they are used.

        Raises:
            InputError: It can't be; says what to do.
        """
        if self.called is not None and (words := trouble(self.model, self.called, here=here)):
            raise InputError([Fault(words, "agent"), Fault("nothing was begun")])

    async def act(self, stage: Stage, script: Script) -> End:
        """See `Agent.act`."""
        stage.record.model = self.model
        tools = tuple(tool.definition() for tool in stage.toolbox.tools)
        messages: list[Mapping[str, Any]] = [
            {"role": "system", "content": stage.system},
            {"role": "user", "content": stage.instruction},
        ]
        while True:
            if (end := over(stage.record, stage.limits)) is not None:
                return end
            try:
                reply = await self.chat.ask(self._request(messages, tools, f"{script.task}-{script.sample}"))
            except AskFailed as failed:
                if failed.kind == "too_long":
                    return "context"
                raise
            end = _end_of(reply)
            calls = () if end else tuple(read_call(call.id, call.name, call.arguments) for call in reply.calls)
            told = await stage.act(reply.text, calls, reasoning=reply.reasoning, usage=reply.usage, at_once=True)
            if end or not calls:
                return end or "done"
            messages.append(_assistant(reply, calls))
            for call, result in zip(calls, told, strict=True):
                messages.append(
                    {"role": "tool", "tool_call_id": call.id, "content": cut(result.text, stage.limits.shown)}
                )

    def _request(
        self, messages: list[Mapping[str, Any]], tools: tuple[Mapping[str, Any], ...], cache_key: str
    ) -> Request:
        return Request(
            self.model,
            tuple(messages),
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            timeout=self.timeout,
            cache_key=cache_key,
            tools=tools,
        )


def over(record: Recording, limits: Limits) -> End | None:
    """The limit that keeps an agent from another reply, if one does."""
    usage = record.usage
    if record.replies >= limits.max_steps:
        return "max_steps"
    if limits.tokens is not None and usage.input_tokens + usage.output_tokens >= limits.tokens:
        return "tokens"
    # A cost that is not known can't be kept below anything: it ends the episode rather than run on.
    if limits.cost is not None and (usage.cost is None or usage.cost >= limits.cost):
        return "cost"
    return None


def _end_of(reply: Reply) -> End | None:
    """How a reply ends the episode, if it does. A cut reply's calls may be cut too, so none is carried out."""
    match reply.finish:
        case "refused" | "filtered":
            return "refused"
        case "length":
            return "cut"
        case _:
            return None


def _assistant(reply: Reply, calls: tuple[Call, ...]) -> dict[str, Any]:
    """The model's own message, for the next request. Arguments that were no JSON would be refused by many servers."""
    asked = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": written.arguments if call.raw is None else "{}"},
        }
        for call, written in zip(calls, reply.calls, strict=True)
    ]
    return {"role": "assistant", "content": reply.text or None, "tool_calls": asked}
