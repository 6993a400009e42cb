"""What a check gets to know of an episode beside its files, as JSON; and the same with nothing of the agent's in it."""

from __future__ import annotations

import json
from typing import Any

from rubricgrade.trajectory import Step, Trajectory


def facts_of(trajectory: Trajectory, *, control: bool = False) -> bytes:
    """JSON of task, messages and tool calls.

    Args:
        trajectory: The episode.
        control: Leave out all that the agent and its tools wrote.
    """
    steps = [step for step in trajectory.steps if not control or step.role in {"system", "user"}]
    facts = {
        "task": trajectory.instruction,
        "final_message": None if control else trajectory.final_message,
        "steps": [_step(step) for step in steps],
    }
    return json.dumps(facts, allow_nan=False).encode()


def _step(step: Step) -> dict[str, Any]:
    calls = [{"name": call.name, "arguments": call.arguments, "raw": call.raw} for call in step.calls]
    return {
        "role": step.role,
        "text": step.text,
        "reasoning": step.reasoning,
        "calls": calls,
        "answers": step.answers,
        "failed": step.failed,
    }
