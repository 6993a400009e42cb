"""What a reviewer holds of an item, worked out from all that he did: what was taken back does not count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rubricgrade.agreement.measures import CANNOT_TELL
from rubricgrade.review.items import Item
from rubricgrade.review.records import Adjudicated, Decided, Record, Revealed, Skipped, Unclear, Undone


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one reviewer did about one item.

    Attributes:
        reviewer: Who.
        acts: What holds, in order.
        seen: Whether the judge's verdict was ever shown to him; that can't be taken back.
    """

    reviewer: str
    acts: tuple[Record, ...] = ()
    seen: bool = False

    @property
    def first(self) -> Decided | None:
        """The verdict that he gave before he saw the judge's; the only one that agreement is measured with."""
        return next((act for act in self.acts if isinstance(act, Decided) and act.blind), None)

    @property
    def final(self) -> Decided | None:
        """What he holds now."""
        return next((act for act in reversed(self.acts) if isinstance(act, Decided)), None)

    @property
    def open(self) -> bool:
        """Whether he may be shown what the judge and others said."""
        return self.seen or self.final is not None

    @property
    def skipped(self) -> Skipped | None:
        """That he did not want to decide, if he has not since."""
        last = next((act for act in reversed(self.acts) if isinstance(act, Decided | Skipped)), None)
        return last if isinstance(last, Skipped) else None

    @property
    def unclear(self) -> tuple[Unclear, ...]:
        """What he holds to be unclear in the criterion."""
        return tuple(act for act in self.acts if isinstance(act, Unclear))

    @property
    def adjudicated(self) -> Adjudicated | None:
        """What he settled."""
        return next((act for act in reversed(self.acts) if isinstance(act, Adjudicated)), None)

    @property
    def last(self) -> Record | None:
        """What he can take back."""
        return next((act for act in reversed(self.acts) if not isinstance(act, Revealed)), None)


def opinions_on(item: Item, trajectory: str, records: Mapping[str, Sequence[Record]]) -> dict[str, Opinion]:
    """What each reviewer holds of an item.

    Args:
        item: What it is about. Records of another question under the same name are left out.
        trajectory: The hash of the trajectory.
        records: Those of the episode, by reviewer.
    """
    found: dict[str, Opinion] = {}
    for reviewer, acts in records.items():
        about = [
            act
            for act in acts
            if (act.criterion, act.question, act.trajectory) == (item.criterion, item.question, trajectory)
        ]
        if about:
            found[reviewer] = _opinion(reviewer, about)
    return found


def settled(opinions: Iterable[Opinion]) -> Adjudicated | None:
    """The latest adjudication of an item."""
    acts = [act for opinion in opinions if (act := opinion.adjudicated) is not None]
    return max(acts, key=lambda act: act.at, default=None)


def majority(opinions: Iterable[Opinion]) -> tuple[str | None, bool]:
    """What more than half of the people hold now, and whether they are divided. Who cannot tell is not counted."""
    verdicts = Counter(
        opinion.final.verdict for opinion in opinions if opinion.final and opinion.final.verdict != CANNOT_TELL
    )
    if not verdicts:
        return None, False
    verdict, most = verdicts.most_common(1)[0]
    return (verdict, False) if 2 * most > verdicts.total() else (None, True)


def _opinion(reviewer: str, acts: Sequence[Record]) -> Opinion:
    undone = {act.undoes for act in acts if isinstance(act, Undone)}
    return Opinion(
        reviewer,
        tuple(act for act in acts if act.id not in undone and not isinstance(act, Undone)),
        seen=any(isinstance(act, Revealed) for act in acts),
    )
