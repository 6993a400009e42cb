"""What the grades of a run come to: scores, how often each item is met, points won and lost, what is open and why."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rubricgrade.report.arithmetic import failed
from rubricgrade.report.collecting import Collected, Entry
from rubricgrade.report.summary import Summary, summarise
from rubricgrade.result import CriterionResult, GateResult

BINS = 10
SLOWEST = 5


@dataclass(frozen=True, slots=True)
class Bin:
    """Scores from `low` up to `high`, which is in the last bin only."""

    low: float
    high: float
    count: int

    @property
    def label(self) -> str:
        """The range, in words."""
        return f"{self.low:g}-{self.high:g}"


@dataclass(frozen=True, slots=True)
class ItemRate:
    """One gate or criterion over all episodes.

    Attributes:
        id: Of the gate or criterion.
        description: Its wording in the latest episode.
        gate: Whether it is a gate.
        points: What it is worth; None for gates, vetoes, and parts of a group.
        veto: Whether it is a veto.
        applied: In how many episodes it applied and was asked.
        decided: In how many of these it has a verdict.
        met: How often it was fully met; of a gate, how often it passed.
        mean: Mean value, 0 to 1; None if it was never decided.
        won: Points earned by it.
        lost: Points missed, or taken by a penalty.
        causes: Why it is open, and how often.
    """

    id: str
    description: str
    gate: bool
    points: float | None
    veto: bool
    applied: int
    decided: int
    met: int
    mean: float | None
    won: float
    lost: float
    causes: dict[str, int]

    @property
    def rate(self) -> float | None:
        """Share of the decided ones that is met, 0 to 1."""
        return self.met / self.decided if self.decided else None


@dataclass(frozen=True, slots=True)
class Overview:
    """All of a run.

    Attributes:
        name: Of the place that the grades were in.
        rubrics: Id and short hash of each rubric that graded.
        judges: Names of the judges.
        entries: The episodes.
        without: Names of episodes without a grade.
        summary: Counts, mean, cost.
        bins: Ten ranges of the score.
        items: Gates first, then criteria, in the rubric's order.
        slowest: The longest gradings.
        dearest: Gradings by cost, the highest first, those of unknown or no cost left out.
    """

    name: str
    rubrics: tuple[str, ...]
    judges: tuple[str, ...]
    entries: tuple[Entry, ...]
    without: tuple[str, ...]
    summary: Summary
    bins: tuple[Bin, ...]
    items: tuple[ItemRate, ...]
    slowest: tuple[Entry, ...]
    dearest: tuple[Entry, ...]

    @property
    def ungraded(self) -> tuple[Entry, ...]:
        """Episodes that the grader failed on."""
        return tuple(entry for entry in self.entries if entry.grade.status == "ungraded")


def overview(collected: Collected, *, min_score: float | None = None) -> Overview:
    """Sum up what was collected.

    Args:
        collected: At least one grade.
        min_score: A mean score that is asked for; said, and judged, in the summary.
    """
    entries = collected.entries
    grades = [entry.grade for entry in entries]
    paid = [entry for entry in entries if entry.grade.usage.cost]
    return Overview(
        name=collected.name,
        rubrics=tuple(dict.fromkeys(f"{each.rubric.id} ({each.rubric.hash[7:15]})" for each in grades)),
        judges=tuple(dict.fromkeys(each.judge.id for each in grades if each.judge)),
        entries=entries,
        without=collected.without,
        summary=summarise(grades, min_score=min_score),
        bins=tuple(_bins([each.score for each in grades if each.score is not None])),
        items=tuple(_rates(entries)),
        slowest=tuple(sorted(entries, key=lambda entry: -entry.grade.seconds)[:SLOWEST]),
        dearest=tuple(sorted(paid, key=lambda entry: -(entry.grade.usage.cost or 0))[:SLOWEST]),
    )


def missed(entry: Entry) -> list[GateResult | CriterionResult]:
    """What took something from the score of an episode: failed gates, missed criteria, penalties and vetoes."""
    gates: list[GateResult | CriterionResult] = [
        gate for gate in entry.grade.gates if failed(gate.value, gate.at_least)
    ]
    return gates + [leaf for leaf in entry.grade.leaves() if _lost(leaf) > 0 or (leaf.veto and leaf.value == 1)]


def opened(entry: Entry) -> list[GateResult | CriterionResult]:
    """What has no verdict in an episode by a fault of the grader; not what was skipped behind a failed gate."""
    items: list[GateResult | CriterionResult] = [*entry.grade.gates, *entry.grade.leaves()]
    return [item for item in items if item.open and item.cause != "gate_failed"]


def _bins(scores: Sequence[float]) -> Iterator[Bin]:
    places = Counter(min(int(score * BINS + 1e-9), BINS - 1) for score in scores)
    for place in range(BINS):
        yield Bin(place / BINS, (place + 1) / BINS, places[place])


def _rates(entries: Sequence[Entry]) -> Iterator[ItemRate]:
    found: dict[str, list[GateResult | CriterionResult]] = {}
    for entry in entries:
        for item in (*entry.grade.gates, *entry.grade.leaves()):
            found.setdefault(item.id, []).append(item)
    # Gates come first, whatever rubric they are of.
    for _, items in sorted(found.items(), key=lambda pair: isinstance(pair[1][0], CriterionResult)):
        yield _rate(items)


def _rate(items: Sequence[GateResult | CriterionResult]) -> ItemRate:
    last = items[-1]
    asked = [item for item in items if item.verdict != "not_applicable" and item.cause != "gate_failed"]
    values = [item.value for item in asked if item.value is not None]
    criteria = [item for item in asked if isinstance(item, CriterionResult)]
    return ItemRate(
        id=last.id,
        description=last.description,
        gate=isinstance(last, GateResult),
        points=last.points if isinstance(last, CriterionResult) else None,
        veto=isinstance(last, CriterionResult) and last.veto,
        applied=len(asked),
        decided=len(values),
        met=sum(_is_met(item) for item in asked),
        mean=math.fsum(values) / len(values) if values else None,
        won=math.fsum(max(item.earned or 0, 0) for item in criteria),
        lost=math.fsum(_lost(item) for item in criteria),
        causes=dict(Counter(str(item.cause) for item in asked if item.value is None)),
    )


def _is_met(item: GateResult | CriterionResult) -> bool:
    if item.value is None:
        return False
    return not failed(item.value, item.at_least) if isinstance(item, GateResult) else item.value == 1


def _lost(item: CriterionResult) -> float:
    """Points that a decided criterion did not bring, or took; 0 while it is open."""
    if item.points is None or item.earned is None:
        return 0.0
    return max(item.points, 0.0) - item.earned
