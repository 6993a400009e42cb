"""What is to be reviewed and why: drawn doubtful-first, by chance and from known answers, with every probability.

Doubtful items alone make any judge look worse than it is. So a share is drawn by chance from all the others, and every
item's probability is kept: weighted by its inverse, what was drawn stands for all there is.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field, ValidationError

from rubricgrade import digest
from rubricgrade.errors import InputError, StoreError
from rubricgrade.misfits import first_misfit
from rubricgrade.review.records import Drawn, Value, WhyDrawn
from rubricgrade.store import journal

SCHEMA = "rubricgrade.queue/1"
FILE = "review-queue.jsonl"


@dataclass(frozen=True, slots=True)
class Mix:
    """Shares of a draw, in percent; they add up to 100."""

    uncertain: int = 60
    random: int = 30
    gold: int = 10

    @classmethod
    def parse(cls, text: str) -> Mix:
        """From ``60/30/10``: doubtful, by chance, known answers.

        Raises:
            InputError: It is no such thing.
        """
        parts = text.split("/")
        if len(parts) != 3 or not all(part.isdecimal() for part in parts) or sum(map(int, parts)) != 100:  # noqa: PLR2004 - three shares of a hundred
            raise InputError(f"a mix is three shares that add up to 100, such as 60/30/10, not {text!r}")
        return cls(*map(int, parts))

    def __str__(self) -> str:
        return f"{self.uncertain}/{self.random}/{self.gold}"


class Place(Value):
    """One item of a draw.

    Attributes:
        episode: Its key.
        criterion: Of the item.
        reason: Why it was drawn.
        probability: That it would be, above 0 to 1.
        to: Whose it is, if the draw was divided; empty: everybody's.
    """

    episode: str
    criterion: str
    reason: WhyDrawn
    probability: float = Field(gt=0, le=1)
    to: tuple[str, ...] = ()


class Draw(Value):
    """One draw.

    Attributes:
        id: Names it in records.
        at: ISO 8601, UTC.
        by: Who drew.
        seed: The same seed draws the same.
        size: How many were asked for.
        mix: Shares, such as ``60/30/10``.
        population: How many there were to draw from.
        covered: Whether each of these could have been drawn; if not, what is drawn doesn't stand for all.
        items: What was drawn.
        reviewers: Among whom it was divided; empty: everybody has all of it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, serialize_by_alias=True)

    schema_: Literal["rubricgrade.queue/1"] = Field(default=SCHEMA, alias="schema")
    id: str
    at: str
    by: str
    seed: int
    size: int = Field(ge=1)
    mix: str
    population: int
    covered: bool
    items: tuple[Place, ...]
    reviewers: tuple[str, ...] = ()

    def places(self, reviewer: str | None = None) -> dict[tuple[str, str], Drawn]:
        """How each item came in, by episode and criterion; only those of a reviewer, if one is named."""
        return {
            (place.episode, place.criterion): Drawn(draw=self.id, reason=place.reason, probability=place.probability)
            for place in self.items
            if reviewer is None or not place.to or reviewer in place.to
        }


def draw(
    doubt: Mapping[tuple[str, str], int],
    gold: Collection[tuple[str, str]],
    people: Collection[tuple[str, str]],
    *,
    size: int,
    mix: Mix,
    seed: int,
    reason: WhyDrawn = "uncertain",
) -> tuple[list[Place], bool]:
    """Draw items.

    Those with a known answer are drawn among themselves. Of the others the most doubtful are taken, and then some of
    all that are left, each with the same probability. Where a share can't be filled, it goes to those drawn by chance.

    Args:
        doubt: How doubtful each judged item is, by episode and criterion; 0 is not at all.
        gold: Items with a known answer.
        people: Items that no judge decides: all are taken, besides the size.
        size: How many judged items.
        mix: Shares.
        seed: For the chance.
        reason: What the doubt is.

    Returns:
        What was drawn, in no telling order, and whether everything could have been.
    """
    source = random.Random(seed)  # noqa: S311 - a sample that can be drawn again, no secret
    known = sorted(name for name in doubt if name in gold)
    others = sorted(name for name in doubt if name not in gold)
    size = min(size, len(doubt))
    of_known = min(_share(size, mix.gold), len(known))
    found = [_place(name, "gold", of_known / len(known)) for name in source.sample(known, of_known)]
    doubtful = [name for name in others if doubt[name]]
    of_doubtful = min(_share(size, mix.uncertain), len(doubtful), size - of_known)
    by_chance = min(size - of_known - of_doubtful, len(others) - of_doubtful)
    # Equally doubtful ones at the cut are taken by chance.
    source.shuffle(doubtful)
    doubtful.sort(key=lambda name: -doubt[name])
    taken = doubtful[:of_doubtful]
    left = [name for name in others if name not in set(taken)]
    rest = by_chance / len(left) if left else 1.0
    level = doubt[taken[-1]] if taken else 0
    at_cut = sum(doubt[name] == level for name in doubtful)
    share = sum(doubt[name] == level for name in taken) / at_cut if at_cut and taken else 0.0

    def chance(name: tuple[str, str]) -> float:
        if taken and doubt[name] > level:
            return 1.0
        first = share if taken and doubt[name] == level else 0.0
        return first + (1 - first) * rest

    found += [_place(name, reason, chance(name)) for name in taken]
    found += [_place(name, "random", chance(name)) for name in source.sample(left, by_chance)]
    found += [_place(name, "human", 1.0) for name in sorted(people)]
    covered = (not known or of_known > 0) and (not left or by_chance > 0)
    source.shuffle(found)
    return found, covered


def _share(size: int, percent: int) -> int:
    return round(size * percent / 100)


def _place(name: tuple[str, str], reason: WhyDrawn, probability: float) -> Place:
    return Place(episode=name[0], criterion=name[1], reason=reason, probability=probability)


def divided(places: Iterable[Place], reviewers: Sequence[str], *, overlap: float, seed: int) -> list[Place]:
    """Give every item to one reviewer, and a share of them to two, so that people can be compared with each other.

    What is drawn of one episode goes to the same people, who then read it once. So the share is met up to one episode.

    Args:
        places: What was drawn.
        reviewers: At least two, with different names.
        overlap: Share of the items that two reviewers get, 0 to 1.
        seed: For the chance.

    Raises:
        InputError: They can't be divided so.
    """
    if len(set(reviewers)) != len(reviewers) or len(reviewers) < 2:  # noqa: PLR2004 - one has nothing to share
        raise InputError("a queue is divided among two or more reviewers, each named once")
    if not 0 <= overlap <= 1:
        raise InputError(f"an overlap is a share from 0 to 1, not {overlap:g}")
    by_episode: dict[str, list[Place]] = {}
    for place in places:
        by_episode.setdefault(place.episode, []).append(place)
    order = sorted(by_episode)
    random.Random(seed).shuffle(order)  # noqa: S311 - a division that can be made again, no secret
    to_share = overlap * sum(map(len, by_episode.values()))
    load = dict.fromkeys(reviewers, 0)
    found: list[Place] = []
    shared = 0
    for episode in order:
        size = len(by_episode[episode])
        both = shared + size / 2 <= to_share
        shared += size if both else 0
        # Those who have least so far; in the order in which they are named, if they have the same.
        names = tuple(sorted(reviewers, key=lambda name: load[name])[: 2 if both else 1])
        for name in names:
            load[name] += size
        found += [place.model_copy(update={"to": names}) for place in by_episode[episode]]
    return found


def add_draw(top: Path, drawn: Draw) -> None:
    """Keep a draw; the latest one is the queue.

    Raises:
        StoreError: It can't be written.
    """
    with journal.opened(top / FILE) as file:
        file.add((drawn.model_dump_json() + "\n").encode())


def read_draws(top: Path) -> list[Draw]:
    """All draws, oldest first.

    Raises:
        StoreError: The file can't be read, or a line is no draw.
    """
    found: list[Draw] = []
    for number, line in enumerate(journal.whole_lines(top / FILE), 1):
        try:
            found.append(Draw.model_validate_json(line))
        except ValidationError as error:
            raise StoreError(f"{top / FILE}:{number}: is no draw: {first_misfit(error)}") from None
    return found


def place_in_order(seed: str, episode: str, number: int) -> tuple[str, int]:
    """Where an item stands in the order of review: episodes by chance, an episode's criteria as in the rubric.

    Nothing that a judge said goes into it, so that the order tells nothing.

    Args:
        seed: Of the order.
        episode: The episode's key.
        number: The item's among those of its episode.
    """
    return digest.of_value([seed, episode]), number
