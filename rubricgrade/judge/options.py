"""What the caller of a judge can choose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from rubricgrade.errors import Fault, InputError

Style = Literal["reasoned", "direct"]
_MOST_VOTES = 100
Votes = int | Literal["adaptive"]


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """Which model judges, how, and at what cost at most. What is None is taken from the rubric, then built in.

    Attributes:
        model: A litellm model name (``openai/gpt-5-mini``). Wins over the rubric's.
        api_base: Address of an OpenAI-compatible endpoint.
        api_key: Its key; else the provider's environment variable. Never stored or printed.
        votes: Independent verdicts per criterion: a number from 1, or ``adaptive``: two, and a third if they differ.
        temperature: Sent only if given.
        max_tokens: The most that one reply may take, hidden reasoning included.
        timeout: Seconds for one attempt.
        concurrency: Calls at a time.
        max_cost: US dollars after which no call is made.
        offline: Make no call: recorded verdicts and the cache only.
        verdicts: Files of recorded verdicts; what they decide is not asked.
        cache: The verdict cache's file; None for the user's own, False for none.
        style: ``reasoned``: reasoning, quotes, answer. ``direct``: the answer only, for small models.
        strict_evidence: Whether a quote must stand word for word; else ``near`` will do.
        max_characters: Of one prompt; a longer record is cut, and says so. About four make a token.
        extra: Passed to the provider as it is.

    Raises:
        InputError: A setting can't be used.
    """

    model: str | None = None
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)
    votes: Votes | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    timeout: float = 120.0
    concurrency: int = 8
    max_cost: float | None = None
    offline: bool = False
    verdicts: tuple[Path, ...] = ()
    cache: Path | Literal[False] | None = None
    style: Style = "reasoned"
    strict_evidence: bool = False
    max_characters: int = 400_000
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        faults = [
            Fault(f"{name} must be {wanted}, not {getattr(self, name)!r}")
            for name, wanted, right in (
                ("votes", "a number from 1 to 100 or 'adaptive'", _is_votes(self.votes)),
                ("style", "'reasoned' or 'direct'", self.style in get_args(Style)),
                ("max_characters", "more than 0", self.max_characters > 0),
                ("timeout", "more than 0 seconds", self.timeout > 0),
                ("concurrency", "at least 1", self.concurrency > 0),
                ("max_tokens", "at least 1", self.max_tokens is None or self.max_tokens > 0),
            )
            if not right
        ]
        if faults:
            raise InputError(faults)

    def identity(self) -> dict[str, Any]:
        """All that can change a verdict, as JSON: not the key, limits of time and cost, or places of files."""
        return {
            "model": self.model,
            "api_base": self.api_base,
            "votes": self.votes,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "style": self.style,
            "strict_evidence": self.strict_evidence,
            "max_characters": self.max_characters,
            "extra": dict(self.extra),
        }


def _is_votes(votes: object) -> bool:
    return votes in (None, "adaptive") or (type(votes) is int and 1 <= votes <= _MOST_VOTES)
