"""How far people and judge agree, from first verdicts only: those that were given before the judge's was seen.

Nothing is counted that the reader has not decided himself yet, since the numbers would tell him.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rubricgrade.agreement import Agreement, Decision, Interval, Number, Undefined, intervals, summarise
from rubricgrade.agreement.joining import answer_of
from rubricgrade.agreement.measures import CANNOT_TELL, MET, NOT_MET
from rubricgrade.review.desk import Desk
from rubricgrade.review.items import Item
from rubricgrade.review.opinions import Opinion, settled

Split = Literal["all", "dev", "test"]
SPLITS: tuple[Split, ...] = ("all", "dev", "test")

Cell = tuple[str, str, float]
"""What people said, what the judge said, and the probability of having been drawn."""


@dataclass(frozen=True, slots=True)
class Weighted:
    """A number that stands for everything a queue was drawn from.

    Attributes:
        value: 0 to 1, or why there is none.
        interval: 95 %, by drawing episodes; or why there is none.
    """

    value: Number
    interval: Interval | Undefined


@dataclass(slots=True)
class Moves:
    """What became of first verdicts once the judge's was seen.

    Attributes:
        first: How many there are.
        moved: Changed since.
        to_judge: Changed to what the judge said.
        settled: Items that were adjudicated.
        judge_right: Of these, how often the judge's verdict was upheld.
        unclear: How often the criterion was called unclear.
        split_votes: Items on which the judge's own votes differed.
    """

    first: int = 0
    moved: int = 0
    to_judge: int = 0
    settled: int = 0
    judge_right: int = 0
    unclear: int = 0
    split_votes: int = 0


@dataclass(frozen=True, slots=True)
class Figures:
    """All of it.

    Attributes:
        agreement: Of people with the judge, unweighted.
        weighted: Share of equal answers, and how often the judge passes what people fail and the reverse, weighted by
            the inverse of each item's probability; empty if nothing that was drawn is decided.
        drawn: How many decided items the weighted numbers rest on.
        covered: Whether the draw could have held everything.
        moves: By criterion.
        gold: Right answers and all answers to what has a known one, by reviewer.
        left_out: Decided by somebody, but not open to the reader.
    """

    agreement: Agreement
    weighted: Mapping[str, Weighted]
    drawn: int
    covered: bool
    moves: Mapping[str, Moves]
    gold: Mapping[str, tuple[int, int]]
    left_out: int


@dataclass(slots=True)
class _Counts:
    decisions: list[Decision] = field(default_factory=list[Decision])
    clusters: defaultdict[str, Counter[Cell]] = field(default_factory=lambda: defaultdict(Counter[Cell]))
    moves: defaultdict[str, Moves] = field(default_factory=lambda: defaultdict(Moves))
    gold: defaultdict[str, list[bool]] = field(default_factory=lambda: defaultdict(list[bool]))
    left_out: int = 0


def split_of(trajectory: str) -> Split:
    """The half of the labels that a trajectory's belong to, by its hash.

    A rubric that is written by looking at the one half can be measured on the other.
    """
    return "dev" if int(trajectory[-2:], 16) % 2 else "test"


def figures(desk: Desk, reviewer: str, *, split: Split = "all", draws: int = 2000) -> Figures:
    """Count.

    Args:
        desk: What is reviewed.
        reviewer: Who reads it.
        split: Only one half.
        draws: Of the bootstrap.
    """
    counts = _Counts()
    for item in desk.items.values():
        trajectory = desk.episodes[item.episode].grade.trajectory.hash
        if split in ("all", split_of(trajectory)):
            _count(desk, item, reviewer, counts)
    current = desk.current_draw()
    clusters = list(counts.clusters.values())
    total = sum(clusters, Counter[Cell]())
    drawn = intervals(clusters, weighted_shares, draws=draws) if total else {}
    return Figures(
        agreement=summarise(counts.decisions, scales=dict(_scales(desk)), draws=draws),
        weighted={name: Weighted(value, drawn[name]) for name, value in weighted_shares(total).items()}
        if total
        else {},
        drawn=total.total(),
        covered=current is None or current.covered,
        moves=dict(sorted(counts.moves.items())),
        gold={name: (sum(right), len(right)) for name, right in sorted(counts.gold.items())},
        left_out=counts.left_out,
    )


def weighted_shares(counts: Mapping[Cell, int]) -> dict[str, Number]:
    """Shares that stand for the whole population: sums of inverse probabilities, divided by their sum (Hájek).

    Args:
        counts: How often each cell was seen.

    Returns:
        ``agreement``; ``false_pass``: the judge's ``met`` among people's ``not_met``; ``false_fail``: the reverse.
    """
    weights: defaultdict[tuple[str, str], float] = defaultdict(float)
    for (person, judge, probability), count in counts.items():
        weights[person, judge] += count / probability

    def share(of: set[tuple[str, str]], among: set[tuple[str, str]], nothing: str) -> Number:
        total = sum(weights[cell] for cell in among)
        return sum(weights[cell] for cell in of) / total if total else Undefined(nothing)

    cells = set(weights)
    failed = {cell for cell in cells if cell[0] == NOT_MET}
    passed = {cell for cell in cells if cell[0] == MET}
    return {
        "agreement": share({cell for cell in cells if cell[0] == cell[1]}, cells, "nothing to compare"),
        "false_pass": share({cell for cell in failed if cell[1] == MET}, failed, "people never said not met"),
        "false_fail": share({cell for cell in passed if cell[1] == NOT_MET}, passed, "people never said met"),
    }


def _count(desk: Desk, item: Item, reviewer: str, counts: _Counts) -> None:
    opinions = desk.opinions(item)
    firsts = {name: opinion.first for name, opinion in opinions.items() if opinion.first is not None}
    if not desk.open_to(item, reviewer):
        counts.left_out += int(bool(firsts))
        return
    result = desk.episodes[item.episode].results[item.criterion]
    judge = answer_of(result) if item.by == "judge" else None
    people = tuple(sorted((name, first.verdict) for name, first in firsts.items()))
    decision = Decision(item.episode, item.row, judge, people)
    counts.decisions.append(decision)
    drawn = next((first.drawn for first in firsts.values() if first.drawn is not None), None)
    person = decision.person
    if drawn is not None and person not in (None, CANNOT_TELL) and judge not in (None, CANNOT_TELL):
        counts.clusters[item.episode][person, judge, drawn.probability] += 1
    _moves(opinions, judge, counts.moves[item.row])
    if result.judge is not None and len({vote.answer for vote in result.judge.votes}) > 1:
        counts.moves[item.row].split_votes += 1
    if (known := desk.gold.get((item.episode, item.criterion))) is not None:
        for name, first in firsts.items():
            counts.gold[name].append(first.verdict == known)


def _moves(opinions: Mapping[str, Opinion], judge: str | None, moves: Moves) -> None:
    for opinion in opinions.values():
        first, final = opinion.first, opinion.final
        moves.unclear += len(opinion.unclear)
        if first is not None and final is not None:
            moves.first += 1
            moves.moved += int(final.verdict != first.verdict)
            moves.to_judge += int(first.verdict != final.verdict == judge)
    act = settled(opinions.values())
    if act is not None and judge is not None:
        moves.settled += 1
        moves.judge_right += int(act.verdict == judge)


def _scales(desk: Desk) -> Iterator[tuple[str, Sequence[str]]]:
    for item in desk.items.values():
        order = [answer.verdict for answer in reversed(item.answers) if answer.value is not None]
        if set(order) != {MET, NOT_MET}:
            yield item.row, order
