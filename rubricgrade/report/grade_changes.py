"""What changed from some grades to others: verdicts that flipped, scores by episode and by task, what they rest on.

Of the same episodes every verdict is compared with itself. Of other episodes of the same tasks, as two runs have them,
only means and counts are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rubricgrade.report.collecting import Entry
from rubricgrade.result import NO_VERDICT, CriterionResult, GateResult, Grade, Status, Subject, Unit
from rubricgrade.runs.statistics import difference_interval, interval, mean

ENOUGH = 0.5
"""Share of the smaller side that must be on the other one, if episodes are to be compared and not tasks."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)


class Flip(_Part):
    """Another verdict on the same item of the same episode.

    Attributes:
        episode: Its folder, or the trajectory's id.
        item: Gate or criterion.
        before: Verdict.
        after: Verdict.
        reason_before: Reasoning or message behind it.
        reason_after: Likewise.
    """

    episode: str
    item: str
    before: str
    after: str
    reason_before: str = ""
    reason_after: str = ""


class Moved(_Part):
    """Another score or status of the same episode; a score is None where it is ungraded."""

    episode: str
    before: Unit | None
    after: Unit | None
    status_before: Status
    status_after: Status


class TaskChange(_Part):
    """How the mean score of one task changed, or over tasks.

    Attributes:
        task: Its id (the folder that its episodes lie in), or ``overall``.
        counted: Scores on both sides: of the same episodes those that have both.
        before: Mean score; over tasks, the mean of the tasks' means. None without any.
        after: Likewise.
        difference: `after` less `before`.
        interval: 95 % bootstrap interval of the difference; None where there is nothing to draw from.
    """

    task: str
    counted: tuple[int, int]
    before: float | None
    after: float | None
    difference: float | None
    interval: tuple[float, float] | None


class Basis(_Part):
    """What grades rest on that is not the same on both sides.

    Attributes:
        what: ``rubric``, ``judge``, ``template`` or ``rubricgrade`` (its version).
        before: All that there are, as ``id (version) hash``.
        after: Likewise.
    """

    what: str
    before: tuple[str, ...]
    after: tuple[str, ...]


class GradeChanges(_Part):
    """All differences.

    Attributes:
        compared: ``episodes``: the same ones, graded again. ``tasks``: other episodes of the same tasks.
        paired: Episodes that both sides have.
        only_before: Episodes that only the first has.
        only_after: Episodes that only the second has.
        mean_before: Mean score of pairs that have a score on both sides; None if there are none.
        mean_after: Likewise.
        scored: How many pairs that is.
        bases: What the grades rest on and is another.
        tasks: By task, the largest change first, and ``overall`` last.
        statuses: Pairs by ``before -> after``, where that is another status.
        moved: Pairs whose score or status is another, the largest change first.
        flips: One verdict became another; in the order of the episodes.
        one_sided: A verdict that only one side has, for the other says ``not_run`` or ``error``; in the same order.
        by_item: Both kinds by item, the item with the most first, then by ``before -> after``.
        verdicts: How often each item had each verdict, before and after; where tasks are compared.
        new_items: Gates and criteria that only the second has.
        gone_items: Gates and criteria that only the first has.
    """

    schema_: Literal["rubricgrade.grade-changes/1"] = Field(default="rubricgrade.grade-changes/1", alias="schema")
    compared: Literal["episodes", "tasks"]
    paired: int
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    mean_before: float | None
    mean_after: float | None
    scored: int
    bases: tuple[Basis, ...]
    tasks: tuple[TaskChange, ...]
    statuses: dict[str, int]
    moved: tuple[Moved, ...]
    flips: tuple[Flip, ...]
    one_sided: tuple[Flip, ...]
    by_item: dict[str, dict[str, int]]
    verdicts: dict[str, tuple[dict[str, int], dict[str, int]]]
    new_items: tuple[str, ...]
    gone_items: tuple[str, ...]


Pair = tuple[Entry, Entry]


def grade_changes(before: Sequence[Entry], after: Sequence[Entry]) -> GradeChanges:
    """Compare grades: of the same episodes, by the trajectories' content; else of the same tasks.

    Args:
        before: One for each episode.
        after: One for each episode.
    """
    pairs = _pairs(before, after)
    if len(pairs) < ENOUGH * min(len(before), len(after)):
        pairs = []
    paired = {id(entry) for pair in pairs for entry in pair}
    scores = [(one, two) for one, two in map(_scores, pairs) if one is not None and two is not None]
    moved = [found for pair in pairs if (found := _moved(pair)) is not None]
    changed = [flip for pair in pairs for flip in _changed(*pair)]
    both = ([one for one, _ in pairs], [two for _, two in pairs]) if pairs else (before, after)
    items = [dict.fromkeys(item.id for entry in side for item in _items(entry.grade)) for side in both]
    return GradeChanges(
        compared="episodes" if pairs else "tasks",
        paired=len(pairs),
        only_before=tuple(entry.name for entry in before if id(entry) not in paired),
        only_after=tuple(entry.name for entry in after if id(entry) not in paired),
        mean_before=mean([one for one, _ in scores]),
        mean_after=mean([two for _, two in scores]),
        scored=len(scores),
        bases=tuple(_bases(*both)),
        tasks=tuple(_same_episodes(pairs) if pairs else _same_tasks(before, after)),
        statuses=dict(Counter(f"{each.status_before} -> {each.status_after}" for each in moved if _restated(each))),
        moved=tuple(sorted(moved, key=_size, reverse=True)),
        flips=tuple(flip for flip in changed if not _is_one_sided(flip)),
        one_sided=tuple(flip for flip in changed if _is_one_sided(flip)),
        by_item=_counted(changed),
        verdicts={}
        if pairs
        else {item: (_verdicts(before, item), _verdicts(after, item)) for item in items[0] | items[1]},
        new_items=tuple(item for item in items[1] if item not in items[0]),
        gone_items=tuple(item for item in items[0] if item not in items[1]),
    )


def _pairs(before: Sequence[Entry], after: Sequence[Entry]) -> list[Pair]:
    """The same episodes on both sides: by content, of several with the same content those of one name first."""
    left: dict[str, list[Entry]] = {}
    for entry in after:
        left.setdefault(entry.grade.trajectory.hash, []).append(entry)
    found: dict[int, Pair] = {}
    for named in (True, False):
        for number, entry in enumerate(before):
            same = left.get(entry.grade.trajectory.hash, [])
            other = next((each for each in same if not named or each.name == entry.name), None)
            if number not in found and other is not None:
                found[number] = entry, other
                same.remove(other)
    return [found[number] for number in sorted(found)]


def _scores(pair: Pair) -> tuple[float | None, float | None]:
    return pair[0].grade.score, pair[1].grade.score


def _moved(pair: Pair) -> Moved | None:
    one, two = pair[0].grade, pair[1].grade
    if (one.score, one.status) == (two.score, two.status):
        return None
    return Moved(
        episode=pair[1].name, before=one.score, after=two.score, status_before=one.status, status_after=two.status
    )


def _restated(moved: Moved) -> bool:
    return moved.status_before != moved.status_after


def _size(moved: Moved) -> float:
    return math.inf if moved.before is None or moved.after is None else abs(moved.after - moved.before)


def _changed(before: Entry, after: Entry) -> Iterator[Flip]:
    new = {item.id: item for item in _items(after.grade)}
    for old in _items(before.grade):
        now = new.get(old.id)
        if now is not None and now.verdict != old.verdict:
            yield Flip(
                episode=after.name,
                item=old.id,
                before=old.verdict,
                after=now.verdict,
                reason_before=old.reasoning or old.message,
                reason_after=now.reasoning or now.message,
            )


def _is_one_sided(flip: Flip) -> bool:
    return not NO_VERDICT.isdisjoint({flip.before, flip.after})


def _items(grade: Grade) -> Iterator[GateResult | CriterionResult]:
    yield from grade.gates
    yield from grade.leaves()


def _counted(changed: Sequence[Flip]) -> dict[str, dict[str, int]]:
    by_item: dict[str, Counter[str]] = {}
    for flip in changed:
        by_item.setdefault(flip.item, Counter())[f"{flip.before} -> {flip.after}"] += 1
    return {item: dict(ways.most_common()) for item, ways in sorted(by_item.items(), key=lambda each: -each[1].total())}


def _verdicts(entries: Sequence[Entry], item: str) -> dict[str, int]:
    found = Counter(each.verdict for entry in entries for each in _items(entry.grade) if each.id == item)
    return dict(found.most_common())


def _bases(before: Sequence[Entry], after: Sequence[Entry]) -> Iterator[Basis]:
    for what in ("rubric", "judge", "template", "rubricgrade"):
        old, new = (sorted({_basis(what, entry.grade) for entry in side}) for side in (before, after))
        if old != new:
            yield Basis(what=what, before=tuple(old), after=tuple(new))


def _basis(what: str, grade: Grade) -> str:
    subjects: dict[str, Subject | None] = {"rubric": grade.rubric, "judge": grade.judge, "template": grade.template}
    if what not in subjects:
        return grade.versions.get(what, "unknown")
    subject = subjects[what]
    if subject is None:
        return "none"
    version = f" ({subject.version})" if subject.version else ""
    return f"{subject.id}{version} {subject.hash.removeprefix('sha256:')[:12]}"


def _same_episodes(pairs: Sequence[Pair]) -> list[TaskChange]:
    """By task, of the pairs that have a score on both sides."""
    scored: dict[str, list[tuple[float, float]]] = {}
    for pair in pairs:
        one, two = _scores(pair)
        if one is not None and two is not None:
            scored.setdefault(_task(pair[1]), []).append((one, two))
    rows = [
        _row(task, [one for one, _ in both], [two for _, two in both], interval([[two - one for one, two in both]]))
        for task, both in scored.items()
    ]
    return _with_overall(rows, interval([[two - one for one, two in both] for both in scored.values()]))


def _same_tasks(before: Sequence[Entry], after: Sequence[Entry]) -> list[TaskChange]:
    """By task that has scores on both sides."""
    old, new = _by_task(before), _by_task(after)
    sides = {task: (old[task], new[task]) for task in old if task in new}
    rows = [_row(task, *both, difference_interval([both])) for task, both in sides.items()]
    return _with_overall(rows, difference_interval(list(sides.values())))


def _by_task(entries: Sequence[Entry]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for entry in entries:
        if entry.grade.score is not None:
            found.setdefault(_task(entry), []).append(entry.grade.score)
    return found


def _task(entry: Entry) -> str:
    """The folder around an episode's: in a run that is its task."""
    parent = PurePosixPath(entry.name).parent.as_posix()
    return "" if parent == "." else parent


def _row(task: str, before: Sequence[float], after: Sequence[float], spread: tuple[float, float] | None) -> TaskChange:
    one, two = mean(before), mean(after)
    return TaskChange(
        task=task,
        counted=(len(before), len(after)),
        before=one,
        after=two,
        difference=None if one is None or two is None else two - one,
        interval=spread,
    )


def _with_overall(rows: Sequence[TaskChange], spread: tuple[float, float] | None) -> list[TaskChange]:
    """The rows with the largest change first, then one over all of them; that alone where there is one task only."""
    overall = _row("overall", _known(row.before for row in rows), _known(row.after for row in rows), spread)
    counted = sum(row.counted[0] for row in rows), sum(row.counted[1] for row in rows)
    ordered = sorted(rows, key=lambda row: -abs(row.difference or 0.0)) if len(rows) > 1 else []
    return [*ordered, overall.model_copy(update={"counted": counted})]


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]
