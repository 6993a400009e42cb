"""What one attempt took, as the server counted it."""

from __future__ import annotations

from dataclasses import dataclass

_MOST_CHARACTERS = 40
"""Of one token, on the average over a text. Ordinary text has three to six."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one attempt, as the server counted them.

    Attributes:
        input: Of the whole prompt, `cached` and `written` included.
        cached: Read from a prefix cache.
        written: Written to a prefix cache, where a provider charges for that.
        output: Hidden reasoning included.
    """

    input: int = 0
    cached: int = 0
    written: int = 0
    output: int = 0

    def credible(self, read: int, written: int) -> bool:
        """Whether there can have been so few of them; a server that counts too few would let a cap on costs be passed.

        Args:
            read: Characters of the prompt.
            written: Characters of the reply.
        """
        return self.input * _MOST_CHARACTERS >= read and self.output * _MOST_CHARACTERS >= written
