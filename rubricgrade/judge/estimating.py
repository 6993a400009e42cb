"""What judging will take, before any of it is spent: calls, tokens and money, as ranges that hold if all goes well.

The lower ends take every shared prefix for cached, every doubt for absent and every reply for short; the upper ends
none of it, and every reply as long as it may be. Faults that make a call be made again are in neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rubricgrade.chat.prices import Price
from rubricgrade.chat.tokens import Tokens
from rubricgrade.judge.room import token_range

Span = tuple[int, int]

_SHORTEST_REPLY = {"reasoned": 60, "direct": 6}
"""Tokens of a reply that says as little as it may."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What something takes; ends of ranges as in the module's text.

    Attributes:
        calls: Calls.
        input_tokens: Of all prompts.
        output_tokens: Of all replies.
        cost: US dollars; None is unknown.
    """

    calls: Span = (0, 0)
    input_tokens: Span = (0, 0)
    output_tokens: Span = (0, 0)
    cost: tuple[float, float] | None = (0.0, 0.0)

    def __add__(self, other: Estimate) -> Estimate:
        cost = None
        if self.cost is not None and other.cost is not None:
            cost = (self.cost[0] + other.cost[0], self.cost[1] + other.cost[1])
        return Estimate(
            _added(self.calls, other.calls),
            _added(self.input_tokens, other.input_tokens),
            _added(self.output_tokens, other.output_tokens),
            cost,
        )

    @property
    def or_nothing(self) -> Estimate:
        """The same for what may not be needed."""
        cost = None if self.cost is None else (0.0, self.cost[1])
        return Estimate((0, self.calls[1]), (0, self.input_tokens[1]), (0, self.output_tokens[1]), cost)

    def shared(self, count: int) -> Estimate:
        """One of so many equal shares, the tokens rounded outwards; calls are counted where they are whole."""
        cost = None if self.cost is None else (self.cost[0] / count, self.cost[1] / count)
        return Estimate((0, 0), _share(self.input_tokens, count), _share(self.output_tokens, count), cost)


@dataclass(frozen=True, slots=True)
class Planned:
    """What one criterion of one trajectory will take.

    Attributes:
        criterion: Its id.
        item: Of a `for_each`.
        estimate: What it takes.
        note: What is known of it already, such as that nobody need be asked.
    """

    criterion: str
    item: str | None
    estimate: Estimate
    note: str = ""


def call(price: Price | None, shared: int, own: int, longest: int, style: str, *, first: bool) -> Estimate:
    """One call.

    Args:
        price: Of the model; None is unknown.
        shared: Bytes of the prompt that other calls share.
        own: Bytes of the rest.
        longest: Tokens that the reply may have.
        style: Of the reply.
        first: Whether nobody has asked about the shared part before, so that it can't be cached.
    """
    fewest, most = token_range(shared + own)
    cached = 0 if first else token_range(shared)[0]
    shortest = min(_SHORTEST_REPLY.get(style, 0), longest)
    low, high = Tokens(input=fewest, cached=cached, output=shortest), Tokens(input=most, output=longest)
    cost = None if price is None else (price.cost(low), price.cost(high))
    return Estimate((1, 1), (fewest, most), (shortest, longest), cost)


def total(estimates: Iterable[Estimate]) -> Estimate:
    """All of them together."""
    return sum(estimates, Estimate())


def by_criterion(planned: Sequence[Planned]) -> dict[str, Estimate]:
    """What each criterion takes over all items and trajectories, in order."""
    found: dict[str, Estimate] = {}
    for each in planned:
        found[each.criterion] = found.get(each.criterion, Estimate()) + each.estimate
    return found


def _added(one: Span, other: Span) -> Span:
    return one[0] + other[0], one[1] + other[1]


def _share(span: Span, count: int) -> Span:
    return span[0] // count, -(-span[1] // count)
