"""What the grades of a run come to: scores, how often each item is met, points won and lost, what is open and why."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rubricgrade.report.arithmetic import counted, counts, failed, possible
from rubricgrade.report.collecting import Collected, Entry
from rubricgrade.report.numbers import number, total
from rubricgrade.report.summary import Summary, summarise
from rubricgrade.result import CriterionResult, GateResult, Grade

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
        label: Its id for people: behind the group that it is a part of, and its rubric where there are several.
        group: The group that it is a part of; empty for what has points of its own.
        description: Its wording in the latest episode.
        gate: Whether it is a gate.
        points: What it is worth; None for gates, vetoes, and parts of a group.
        veto: Whether it is a veto.
        costs: Whether it speaks against the agent when it is met: a penalty, or a veto.
        applied: In how many episodes it applied and was asked.
        decided: In how many of these it has a verdict.
        met: How often it was fully met; of a gate, how often it passed.
        mean: Mean value, 0 to 1; None if it was never decided.
        won: Points earned by it in graded episodes: where a gate or veto stopped it, or the grader failed, none count.
        lost: Points missed there, or taken by a penalty.
        causes: Why it is open, and how often.
    """

    id: str
    label: str
    group: str
    description: str
    gate: bool
    points: float | None
    veto: bool
    costs: bool
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
class Points:
    """Points over all graded episodes: ``possible - lost`` is what their scores are made of, before clipping.

    Attributes:
        episodes: How many.
        possible: The sum of the positive points that applied.
        won: Earned by criteria with positive points.
        lost: Missed by these, or taken by penalties.
    """

    episodes: int
    possible: float
    won: float
    lost: float


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
        items: Gates first, then criteria, in the rubric's order; the parts of a group behind it.
        points: Won, lost and possible, which the items add up to.
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
    points: Points
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
        points=_points([each for each in grades if each.status == "graded"]),
        slowest=tuple(sorted(entries, key=lambda entry: -entry.grade.seconds)[:SLOWEST]),
        dearest=tuple(sorted(paid, key=lambda entry: -(entry.grade.usage.cost or 0))[:SLOWEST]),
    )


def points_told(points: Points) -> str:
    """How the points of a table make the scores, to be checked by hand."""
    of = "the graded episode" if points.episodes == 1 else f"the {points.episodes} graded episodes"
    kept = number(total([points.possible, -points.lost]))
    return (
        f"Points are of {of}: {number(points.possible)} possible - {number(points.lost)} lost = {kept}, before any "
        "score is cut to 0 or 1. Where a gate or veto stopped an episode, or the grader failed, none count."
    )


def missed(entry: Entry) -> list[GateResult | CriterionResult]:
    """What took something from the score of an episode: failed gates, missed criteria, penalties and vetoes."""
    gates: list[GateResult | CriterionResult] = [
        gate for gate in entry.grade.gates if failed(gate.value, gate.at_least)
    ]
    found: list[GateResult | CriterionResult] = []
    for item in entry.grade.criteria:
        short = [part for part in _parts(item) if _fell_short(part)]
        # A group may be undecided and yet be worth nothing whatever comes: then its parts are what was missed.
        if _lost(item) > 0 or (item.veto and item.value == 1) or (item.value is None and short):
            found += [item, *short]
    return gates + found


def opened(entry: Entry) -> list[GateResult | CriterionResult]:
    """What has no verdict in an episode by a fault of the grader; not what was skipped behind a failed gate."""
    items: list[GateResult | CriterionResult] = [*entry.grade.gates, *entry.grade.leaves()]
    return [item for item in items if item.open and item.cause != "gate_failed"]


def _bins(scores: Sequence[float]) -> Iterator[Bin]:
    places = Counter(min(int(score * BINS + 1e-9), BINS - 1) for score in scores)
    for place in range(BINS):
        yield Bin(place / BINS, (place + 1) / BINS, places[place])


def _rates(entries: Sequence[Entry]) -> Iterator[ItemRate]:
    found: dict[tuple[str, str, str], list[tuple[GateResult | CriterionResult, Grade]]] = {}
    for entry in entries:
        for item, group in _items(entry.grade):
            found.setdefault((entry.grade.rubric.id, group, item.id), []).append((item, entry.grade))
    several = len({rubric for rubric, _, _ in found}) > 1
    # Gates come first, whatever rubric they are of.
    for (rubric, group, name), items in sorted(
        found.items(), key=lambda pair: isinstance(pair[1][0][0], CriterionResult)
    ):
        yield _rate(items, f"{f'{rubric}: ' if several else ''}{f'{group} > ' if group else ''}{name}", group)


def _items(grade: Grade) -> Iterator[tuple[GateResult | CriterionResult, str]]:
    """Gates, criteria, and the parts of groups behind them, each with the group that it is a part of."""
    yield from ((gate, "") for gate in grade.gates)
    for item in grade.criteria:
        yield item, ""
        yield from ((part, item.id) for part in _parts(item))


def _parts(item: CriterionResult) -> Iterator[CriterionResult]:
    """What a group consists of, groups in it included. The items of a `for_each` are one criterion."""
    if item.by == "criteria":
        for part in item.parts:
            yield part
            yield from _parts(part)


def _rate(items: Sequence[tuple[GateResult | CriterionResult, Grade]], label: str, group: str) -> ItemRate:
    last = items[-1][0]
    asked = [item for item, _ in items if item.verdict != "not_applicable" and item.cause != "gate_failed"]
    values = [item.value for item in asked if item.value is not None]
    scoring = [] if group else [item for item, grade in items if grade.status == "graded"]
    criteria = [item for item in scoring if isinstance(item, CriterionResult)]
    return ItemRate(
        id=last.id,
        label=label,
        group=group,
        description=last.description,
        gate=isinstance(last, GateResult),
        points=last.points if isinstance(last, CriterionResult) and not group else None,
        veto=isinstance(last, CriterionResult) and last.veto,
        costs=isinstance(last, CriterionResult) and (last.veto or (last.points or 0) < 0),
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


def _points(grades: Sequence[Grade]) -> Points:
    earned = [item.earned for grade in grades for item in counted(grade) if item.earned is not None]
    most = total([possible(grade) for grade in grades])
    return Points(
        len(grades), most, total([each for each in earned if each > 0]), total([most, *(-each for each in earned)])
    )


def _fell_short(part: CriterionResult) -> bool:
    """Whether a part took something from its group."""
    return part.value is not None and (part.value > 0 if (part.points or 0) < 0 else part.value < 1)


def _lost(item: CriterionResult) -> float:
    """Points that a decided criterion did not bring, or took; 0 while it is open."""
    if item.points is None or item.earned is None or not counts(item):
        return 0.0
    return max(item.points, 0.0) - item.earned
