"""Writes down an episode as it happens: the messages, every tool result in full, and what the model took.

No times: the same acts make the same trajectory with the same hash, so that what was decided about it still holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from rubricgrade import result
from rubricgrade.trajectory import Call, Role, Step, Text, Usage


class Recording:
    """The steps of one episode so far.

    Attributes:
        steps: In order.
        usage: What the agent's model took in all; its cost is None once any part of it is unknown.
        model: The model's name, if there is one.
        opened: The number of the message with which the current step of the task began.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.usage = result.Usage()
        self.model: str | None = None
        self.opened = 0

    @property
    def replies(self) -> int:
        """Steps that the agent has made."""
        return sum(step.role == "assistant" for step in self.steps)

    def say(
        self,
        role: Role,
        text: str,
        *,
        calls: Sequence[Call] = (),
        reasoning: str = "",
        usage: result.Usage | None = None,
    ) -> int:
        """Add a message; returns its number."""
        if usage is not None:
            self.usage += usage
        step = Step(
            role=role,
            content=(Text(text=text),) if text else (),
            reasoning=reasoning or None,
            calls=tuple(calls),
            usage=None if usage is None else _plain(usage),
        )
        self.steps.append(step)
        return len(self.steps) - 1

    def answer(self, call: tuple[int, int], tool: str, text: str, *, failed: bool) -> None:
        """Add the result of a call, given by its step and its number in it (from 1)."""
        content = (Text(text=text),)
        self.steps.append(Step(role="tool", content=content, answers=call, tool=tool, failed=failed))

    def take(self, steps: Sequence[Step]) -> None:
        """Put what an agent has logged itself in place of all since the current step of the task began."""
        shifted = [
            step
            if step.answers is None
            else step.model_copy(update={"answers": (step.answers[0] + self.opened, step.answers[1])})
            for step in steps
        ]
        self.steps[self.opened :] = shifted

    def total(self) -> Usage | None:
        """What the model took, as a trajectory keeps it; None when no model was asked."""
        return _plain(self.usage) if self.usage.calls else None


def _plain(usage: result.Usage) -> Usage:
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        cost=usage.cost,
    )
