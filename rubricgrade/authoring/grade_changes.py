"""What changed from some grades to others of the same episodes: verdicts that flipped, and scores."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rubricgrade.result import CriterionResult, GateResult, Grade, Unit


class Flip(BaseModel):
    """Another verdict on the same item of the same episode.

    Attributes:
        episode: The trajectory's id.
        item: Gate or criterion.
        before: Verdict.
        after: Verdict.
        reason_before: Reasoning or message behind it.
        reason_after: Likewise.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    episode: str
    item: str
    before: str
    after: str
    reason_before: str = ""
    reason_after: str = ""


class Moved(BaseModel):
    """Another score of the same episode; None where it is ungraded."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    episode: str
    before: Unit | None
    after: Unit | None


class GradeChanges(BaseModel):
    """All differences.

    Attributes:
        paired: Episodes that both sides have.
        only_before: Ids of episodes that only the first has.
        only_after: Ids of episodes that only the second has.
        mean_before: Mean score of pairs that have a score on both sides; None if there are none.
        mean_after: Likewise.
        scored: How many pairs that is.
        moved: Pairs whose score is another, the largest change first.
        flips: In the order of the episodes.
        by_item: Flips by item, then by ``before -> after``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_: Literal["rubricgrade.grade-changes/1"] = Field(default="rubricgrade.grade-changes/1", alias="schema")
    paired: int
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    mean_before: float | None
    mean_after: float | None
    scored: int
    moved: tuple[Moved, ...]
    flips: tuple[Flip, ...]
    by_item: dict[str, dict[str, int]]


def grade_changes(before: Sequence[Grade], after: Sequence[Grade]) -> GradeChanges:
    """Compare grades of the same episodes, paired by the trajectory's content.

    Args:
        before: One for each episode.
        after: One for each episode.
    """
    old, new = _by_episode(before), _by_episode(after)
    pairs = [(grade, new[key]) for key, grade in old.items() if key in new]
    scores = [(one.score, two.score) for one, two in pairs if one.score is not None and two.score is not None]
    moved = [
        Moved(episode=one.trajectory.id, before=one.score, after=two.score)
        for one, two in pairs
        if one.score != two.score
    ]
    flips = [flip for one, two in pairs for flip in _flips(one, two)]
    return GradeChanges(
        paired=len(pairs),
        only_before=tuple(grade.trajectory.id for key, grade in old.items() if key not in new),
        only_after=tuple(grade.trajectory.id for key, grade in new.items() if key not in old),
        mean_before=_mean([one for one, _ in scores]),
        mean_after=_mean([two for _, two in scores]),
        scored=len(scores),
        moved=tuple(sorted(moved, key=_size, reverse=True)),
        flips=tuple(flips),
        by_item=_counted(flips),
    )


def _by_episode(grades: Sequence[Grade]) -> Mapping[str, Grade]:
    return {grade.trajectory.hash: grade for grade in grades}


def _flips(before: Grade, after: Grade) -> Iterator[Flip]:
    new = {item.id: item for item in _items(after)}
    for old in _items(before):
        now = new.get(old.id)
        if now is not None and now.verdict != old.verdict:
            yield Flip(
                episode=before.trajectory.id,
                item=old.id,
                before=old.verdict,
                after=now.verdict,
                reason_before=old.reasoning or old.message,
                reason_after=now.reasoning or now.message,
            )


def _items(grade: Grade) -> Iterator[GateResult | CriterionResult]:
    yield from grade.gates
    yield from grade.leaves()


def _counted(flips: Sequence[Flip]) -> dict[str, dict[str, int]]:
    counts = Counter((flip.item, f"{flip.before} -> {flip.after}") for flip in flips)
    by_item: dict[str, dict[str, int]] = {}
    for (item, way), count in counts.most_common():
        by_item.setdefault(item, {})[way] = count
    return by_item


def _size(moved: Moved) -> float:
    return math.inf if moved.before is None or moved.after is None else abs(moved.after - moved.before)


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
