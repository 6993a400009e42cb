"""The messages and tool calls of an episode, from the facts that the host wrote down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call and what came of it.

    Attributes:
        name: The tool.
        arguments: Its arguments; None when they were no JSON object (then `raw` has the text).
        raw: The text of arguments that could not be read.
        step: Index of the message.
        number: Which call of the message, from 1.
        result: Text of the tool's answer; None when there is none.
        result_step: Index of the message that answers; None when there is none.
        failed: Whether the answer was marked as an error; None when unknown.
    """

    name: str
    arguments: dict[str, Any] | None
    raw: str | None
    step: int
    number: int
    result: str | None
    result_step: int | None
    failed: bool | None

    @property
    def address(self) -> str:
        """Where it stands, such as ``[12].call_1``."""
        return f"[{self.step}].call_{self.number}"

    @property
    def result_address(self) -> str | None:
        """Where its answer stands, such as ``[14].result``."""
        return None if self.result_step is None else f"[{self.result_step}].result"


@dataclass(frozen=True, slots=True)
class Step:
    """One message: who wrote it (``system``, ``user``, ``assistant``, ``tool``), its text, and its tool calls."""

    index: int
    role: str
    text: str
    reasoning: str | None
    calls: tuple[Call, ...]

    @property
    def address(self) -> str:
        """Where its text stands, such as ``[12].text``; ``[14].result`` for the answer of a tool."""
        return f"[{self.index}].{'result' if self.role == 'tool' else 'text'}"


def read_calls(facts: Mapping[str, Any]) -> list[Call]:
    """Every tool call of the episode in order."""
    return [call for step in read_steps(facts) for call in step.calls]


def read_steps(facts: Mapping[str, Any]) -> tuple[Step, ...]:
    """Every message of the episode."""
    steps: list[dict[str, Any]] = facts["steps"]
    answers = {tuple(step["answers"]): index for index, step in enumerate(steps) if step.get("answers")}

    def call(index: int, number: int, data: Mapping[str, Any]) -> Call:
        at = answers.get((index, number))
        answer = steps[at] if at is not None else {}
        text, failed = answer.get("text"), answer.get("failed")
        return Call(data["name"], data["arguments"], data.get("raw"), index, number, text, at, failed)

    return tuple(
        Step(
            index,
            step["role"],
            step["text"],
            step.get("reasoning"),
            tuple(call(index, number, data) for number, data in enumerate(step.get("calls", ()), 1)),
        )
        for index, step in enumerate(steps)
    )
