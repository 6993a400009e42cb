"""How long an agent may go on, how much it may spend, and in which ways an episode ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rubricgrade.errors import Fault, InputError

End = Literal["done", "max_steps", "timeout", "tokens", "cost", "context", "cut", "refused", "failed", "lost"]
"""Why an agent stopped. Whatever it is, what the agent left is graded as it stands.

``done``: by itself. ``context``: its messages no longer fit the model. ``cut``: the model's last reply hit its length
limit. ``refused``: the model or its provider would not go on. ``failed``: a command-line agent ended with an error.
``lost``: its sandbox died, again and again, so that nothing of its work is there to be graded.
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one episode may take.

    Attributes:
        max_steps: Replies of the agent.
        seconds: Wall time of the agent's part.
        tokens: Input and output tokens together, over all replies; None sets no limit.
        cost: US dollars of the agent's model; None sets no limit.
        shown: Characters of one tool result that the model is shown. The trajectory keeps all of it.
        parallel: Tool calls of one reply that are carried out at a time; 1: one after the other.

    Raises:
        InputError: A limit that lets nothing happen.
    """

    max_steps: int = 50
    seconds: float = 1800.0
    tokens: int | None = None
    cost: float | None = None
    shown: int = 10_000
    parallel: int = 4

    def __post_init__(self) -> None:
        least = {"max_steps": 1, "seconds": 0, "tokens": 1, "cost": 0, "shown": 100, "parallel": 1}
        faults = [
            Fault(
                f"limit {name} must be {'more than' if least[name] == 0 else 'at least'} {least[name]}, not {value!r}"
            )
            for name in least
            if (value := getattr(self, name)) is not None and (value < least[name] or value == 0)
        ]
        if faults:
            raise InputError(faults)
