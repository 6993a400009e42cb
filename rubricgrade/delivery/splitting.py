"""The held-out split: whole groups only, the same mix of categories and difficulties on both sides, repeatable.

Tasks are linked by labels that they share (a repository, a template, an author's series) and by being near twins; what
is linked, through however many others, stays on one side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rubricgrade import digest
from rubricgrade.delivery.twins import Links

Stratum = tuple[str, str]
"""Category and difficulty."""


@dataclass(frozen=True, slots=True)
class Item:
    """A task as it is split.

    Attributes:
        task: Its id.
        category: With `difficulty`, the stratum that it belongs to.
        difficulty: Likewise.
        labels: By name; tasks that share any label's value are never parted.
    """

    task: str
    category: str = ""
    difficulty: str = ""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def stratum(self) -> Stratum:
        """What both sides should have alike."""
        return self.category, self.difficulty


@dataclass(frozen=True, slots=True)
class Split:
    """Which side every task is on.

    Attributes:
        train: Ids, sorted.
        heldout: Ids, sorted.
        groups: What had to stay together; all tasks, single ones as groups of one.
    """

    train: tuple[str, ...]
    heldout: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]


def split(items: Sequence[Item], links: Iterable[tuple[str, str]] = (), *, fraction: float, seed: int = 0) -> Split:
    """Hold out about a fraction of the tasks.

    Groups are taken in an order drawn by the seed, and one is held out while it fits into what its strata still want,
    rounded. What then lacks of the fraction over all tasks, since small strata round down and large groups fit nowhere,
    is filled with the groups that bring the strata least off (in squares). A group too large for that stays in
    training, so the fraction is a wish that a large group can outweigh.

    Args:
        items: The tasks.
        links: Pairs of ids that must not be parted.
        fraction: To hold out, 0 to below 1.
        seed: The same seed and tasks give the same split, in whatever order they come.
    """
    grouped = groups(items, links)
    strata = {item.task: item.stratum for item in items}
    wanted = {stratum: fraction * size for stratum, size in Counter(strata.values()).items()}
    held: Counter[Stratum] = Counter()
    chosen: set[str] = set()

    def hold_out(group: tuple[str, ...]) -> None:
        chosen.update(group)
        held.update(strata[task] for task in group)

    def fits(group: tuple[str, ...]) -> bool:
        added = Counter(strata[task] for task in group)
        return all(held[each] + count < wanted[each] + 0.5 for each, count in added.items())

    def cost(group: tuple[str, ...]) -> float:
        """What holding this group out adds to the squared distance of all strata from what they want, per task."""
        added = Counter(strata[task] for task in group)
        return sum((2 * (held[each] - wanted[each]) + count) * count for each, count in added.items()) / len(group)

    waiting = sorted(grouped, key=lambda each: digest.of_value([seed, each]))
    for group in waiting:
        if fits(group):
            hold_out(group)
    lacking = fraction * len(items) - len(chosen)
    while rest := [group for group in waiting if group[0] not in chosen and len(group) < 2 * lacking]:
        group = min(rest, key=cost)
        hold_out(group)
        lacking -= len(group)
    return Split(tuple(sorted(strata.keys() - chosen)), tuple(sorted(chosen)), tuple(grouped))


def groups(items: Sequence[Item], links: Iterable[tuple[str, str]] = ()) -> list[tuple[str, ...]]:
    """The tasks that are linked by labels or pairs, directly or through others: each group sorted, all of them."""
    joined = Links(item.task for item in items)
    first: dict[tuple[str, str], str] = {}
    for item in sorted(items, key=lambda each: each.task):
        for label in item.labels.items():
            joined.join(first.setdefault(label, item.task), item.task)
    for one, two in links:
        joined.join(one, two)
    return joined.groups()
