"""What the caller of a judge can choose."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

from rubricgrade.chat.prices import is_rate
from rubricgrade.errors import Fault, InputError

Style = Literal["reasoned", "direct"]
Unverified = Literal["open", "flag"]
Votes = int | Literal["adaptive"]
Batch = int | Literal["all"]
_MOST = 100  # votes, and criteria in one call


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """Which model judges, how, and at what cost at most. What is None is taken from the rubric, then built in.

    Attributes:
        model: A litellm model name (``openai/gpt-5-mini``), or several with commas between them: a panel, in which each
            casts `votes`. Wins over the rubric's.
        escalate: A stronger model that decides instead where the votes differ, could not tell, have quotes that do not
            carry them, or where the record seems to talk to its grader.
        api_base: Address of an OpenAI-compatible endpoint.
        api_key: Its key; else the provider's environment variable. Never stored or printed.
        votes: Independent verdicts per criterion: a number from 1, or ``adaptive``: two, and a third if they differ.
        batch: Criteria that see the same and are asked in one call: a number from 1, or ``all``.
        temperature: Sent only if given.
        max_tokens: The most that one reply may take, hidden reasoning included.
        timeout: Seconds for one attempt.
        concurrency: Calls at a time, over the whole process.
        per_provider: Of these, calls at a time to one place, an API's origin or a provider; None: as many.
        per_minute: Calls, failed attempts included, that may start in a minute at one place (the origin of an API),
            evenly spaced; None sets no pace.
        tokens_per_minute: Tokens, of prompt and reply, of the calls that may start in a minute at one place: as many as
            are to be expected at most, put right by what was counted; None sets no limit.
        max_cost: US dollars after which no call is made.
        offline: Make no call: recorded verdicts and the cache only.
        verdicts: Files of recorded verdicts; what they decide is not asked. A text will do for a path.
        cache: The verdict cache's file; None for the user's own, False for none.
        style: ``reasoned``: reasoning, quotes, answer. ``direct``: the answer only, for small models.
        strict_evidence: Whether a quote must stand word for word; else ``near`` will do.
        unverified: What an answer counts as whose quotes are not found, also when they were asked for again: it stays
            ``open``, or it counts and is marked (``flag``).
        canary: Ask each judge, about each record that it sees, whether it holds a text that it does not hold; a yes
            opens every verdict of that trajectory.
        max_characters: Of one prompt; a longer record is cut, or shown in parts, and says so. About four make a token.
            None: what the smallest of the models takes, if that is known, and at most 400,000.
        extra: Passed to the provider as it is; but for ``input_cost_per_token`` and ``output_cost_per_token``, US
            dollars of a model that the price list does not know.

    Raises:
        InputError: A setting can't be used.
    """

    model: str | None = None
    escalate: str | None = None
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)
    votes: Votes | None = None
    batch: Batch | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    timeout: float = 120.0
    concurrency: int = 8
    per_provider: int | None = None
    per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_cost: float | None = None
    offline: bool = False
    verdicts: tuple[Path, ...] = ()
    cache: Path | Literal[False] | None = None
    style: Style = "reasoned"
    strict_evidence: bool = False
    unverified: Unverified = "open"
    canary: bool = False
    max_characters: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        if isinstance(self.verdicts, str | os.PathLike):
            object.__setattr__(self, "verdicts", (self.verdicts,))
        faults = [
            Fault(f"{name} must be {wanted}, not {_told(name, getattr(self, name))}")
            for name, (wanted, is_right) in _WANTED.items()
            if not is_right(getattr(self, name))
        ]
        if faults:
            raise InputError(faults)
        object.__setattr__(self, "verdicts", tuple(map(Path, self.verdicts)))
        if self.cache:
            object.__setattr__(self, "cache", Path(self.cache))

    @property
    def models(self) -> tuple[str, ...]:
        """The models of the panel; empty if none is named here."""
        return models_of(self.model)

    def identity(self) -> dict[str, Any]:
        """All that can change a verdict, as JSON: not the key, limits of time and cost, or places of files."""
        return {
            "model": self.model,
            "escalate": self.escalate,
            "api_base": self.api_base,
            "votes": self.votes,
            "batch": self.batch,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "style": self.style,
            "strict_evidence": self.strict_evidence,
            "unverified": self.unverified,
            "canary": self.canary,
            "max_characters": self.max_characters,
            "extra": self.sent,
        }

    @property
    def sent(self) -> dict[str, Any]:
        """What of `extra` goes to the provider: prices don't."""
        return {name: value for name, value in self.extra.items() if not is_rate(name)}


def models_of(names: str | None) -> tuple[str, ...]:
    """The models that a text names, with commas between them."""
    return () if names is None else tuple(name.strip() for name in names.split(","))


def _told(name: str, value: object) -> str:
    return f"a {type(value).__name__}" if name == "api_key" else repr(value)


def _names(value: Any) -> bool:
    return value is None or (isinstance(value, str) and all(models_of(value)))


def _path(value: Any) -> bool:
    return isinstance(value, str | os.PathLike) and str(cast("object", value)) != ""


def _paths(value: Any) -> bool:
    # Libraries for configurations have lists of their own.
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str | bytes)
        and all(map(_path, cast("Sequence[Any]", value)))
    )


def _number_or(word: str) -> Callable[[Any], bool]:
    return lambda value: value in (None, word) or (type(value) is int and 1 <= value <= _MOST)


def _amount(value: Any) -> bool:
    """Whether it is a number above 0, and no bool or NaN."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _count(value: Any) -> bool:
    return type(value) is int and value > 0


def _text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _switch(value: Any) -> bool:
    return isinstance(value, bool)


def _if_given(wanted: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or wanted(value)


_WANTED: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "model": ("a name, or several with commas between them", _names),
    "escalate": ("the name of one model", lambda value: _names(value) and "," not in (value or "")),
    "api_base": ("a text", _text),
    "api_key": ("a text", _text),
    "votes": ("a number from 1 to 100 or 'adaptive'", _number_or("adaptive")),
    "batch": ("a number from 1 to 100 or 'all'", _number_or("all")),
    "temperature": ("a number from 0", _if_given(lambda value: value == 0 or _amount(value))),
    "max_tokens": ("a whole number from 1", _if_given(_count)),
    "timeout": ("more than 0 seconds", _amount),
    "concurrency": ("a whole number from 1", _count),
    "per_provider": ("a whole number from 1", _if_given(_count)),
    "per_minute": ("more than 0", _if_given(_amount)),
    "tokens_per_minute": ("more than 0", _if_given(_amount)),
    "max_cost": ("a number of US dollars from 0", _if_given(lambda value: value == 0 or _amount(value))),
    "offline": ("True or False", _switch),
    "verdicts": ("paths of files", _paths),
    "cache": ("the path of a file, None or False", lambda value: value is None or value is False or _path(value)),
    "style": ("'reasoned' or 'direct'", lambda value: value in get_args(Style)),
    "strict_evidence": ("True or False", _switch),
    "unverified": ("'open' or 'flag'", lambda value: value in get_args(Unverified)),
    "canary": ("True or False", _switch),
    "max_characters": ("a whole number from 1", _if_given(_count)),
    "extra": ("a map", lambda value: isinstance(value, Mapping)),
}
"""What each setting may be: a configuration may hold anything."""
