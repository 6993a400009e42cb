"""Two versions of a judge or a rubric on the same episodes: which verdicts flipped, and what it did to the scores."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rubricgrade.result import CriterionResult, Grade
from rubricgrade.review.desk import Desk
from rubricgrade.review.episodes import Episode
from rubricgrade.store.grades import read_grade

_WORDS = re.compile(r"\s+|[^\s]+")


@dataclass(frozen=True, slots=True)
class Version:
    """A rubric with a judge.

    Attributes:
        id: For addresses.
        rubric: Its id and the beginning of its hash.
        judge: The judge's name and the beginning of its hash.
        episodes: How many have a grade by it.
        title: For people: what tells it from the others.
    """

    id: str
    rubric: str
    judge: str
    episodes: int
    title: str = ""


@dataclass(frozen=True, slots=True)
class Flip:
    """One verdict that differs.

    Attributes:
        people: What more than half of the people said first; None if there is no such answer.
        item: The item's id, if people can decide it.
    """

    episode: str
    criterion: str
    before: CriterionResult
    after: CriterionResult
    people: str | None
    item: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """A word or more that stays, goes or comes."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two versions differ in.

    Attributes:
        episodes: How many have a grade by both.
        flips: Verdicts that differ.
        same: How many do not.
        wording: Changed wordings, by criterion.
        scores: Episode, score before, score after; None is ungraded.
        right: How often each version agrees with people, and of how many: (before, after, of).
        costs: Of each version, over the episodes in `scores`, US dollars; None is unknown.
        left_out: Verdicts that are not open to the reader.
    """

    episodes: int
    flips: tuple[Flip, ...]
    same: int
    wording: Mapping[str, tuple[Change, ...]]
    scores: tuple[tuple[str, float | None, float | None], ...]
    right: tuple[int, int, int]
    costs: tuple[float | None, float | None]
    left_out: int


def versions_of(desk: Desk) -> list[Version]:
    """All versions that something was graded by, the one that graded first first."""
    found: dict[str, list[Grade]] = {}
    for episode in desk.episodes.values():
        for name, grade in grades_by_version(episode).items():
            found.setdefault(name, []).append(grade)
    # Of the episodes that both have graded, each has the older version first.
    versions = [_version(name, grades[-1], len(grades)) for name, grades in found.items()]
    rubrics, judges = ({getattr(each, part) for each in versions} for part in ("rubric", "judge"))
    return [replace(each, title=_title(each, rubrics=len(rubrics), judges=len(judges))) for each in versions]


def grades_by_version(episode: Episode) -> dict[str, Grade]:
    """The latest grade of an episode by each version, oldest first."""
    found: dict[str, Grade] = {}
    for file in episode.files:
        grade = read_grade(file)
        name = _name(grade)
        found.pop(name, None)
        found[name] = grade
    return found


def flipped(desk: Desk, versions: tuple[str, str] | None = None) -> set[tuple[str, str]]:
    """Judged items with different verdicts by two versions, by episode and criterion; whoever may see them.

    Args:
        desk: What is reviewed.
        versions: Which two; None is, for each episode, that of its latest grade and the last other one before it.
    """
    found: set[tuple[str, str]] = set()
    for episode in desk.episodes.values():
        grades = grades_by_version(episode)
        before, after = versions or _last_two(grades)
        if before in grades and after in grades:
            judged = {item.criterion for item in episode.items if item.by == "judge"}
            found |= {
                (episode.key, new.id)
                for old, new in _pairs(grades[before], grades[after])
                if old.verdict != new.verdict and new.id in judged
            }
    return found


def _last_two(grades: Mapping[str, Grade]) -> tuple[str, str]:
    """The versions that graded last; the same one twice if there is one."""
    names = list(grades)
    return names[-2 if len(names) > 1 else -1], names[-1]


def compare(desk: Desk, reviewer: str, before: str, after: str) -> Comparison:
    """What differs between two versions, as far as it is open to a reviewer."""
    flips: list[Flip] = []
    scores: list[tuple[str, float | None, float | None]] = []
    wording: dict[str, tuple[Change, ...]] = {}
    costs: list[tuple[float | None, float | None]] = []
    episodes = same = left_out = 0
    right = Counter[str]()
    for episode in desk.episodes.values():
        grades = grades_by_version(episode)
        if before not in grades or after not in grades:
            continue
        one, two = grades[before], grades[after]
        episodes += 1
        wholly = desk.wholly_open_to(episode, reviewer)
        if wholly:
            costs.append((one.usage.cost, two.usage.cost))
            scores.append((episode.key, one.score, two.score))
        for old, new in _pairs(one, two):
            if old.description != new.description:
                wording.setdefault(new.id, tuple(changes(old.description, new.description)))
            found = _flip(desk, episode, old, new)
            if not (desk.open_to(desk.items[found.item], reviewer) if found.item else wholly or new.by == "check"):
                left_out += 1
                continue
            if found.people is not None:
                right.update(before=int(old.verdict == found.people), after=int(new.verdict == found.people), of=1)
            if old.verdict == new.verdict:
                same += 1
            else:
                flips.append(found)
    return Comparison(
        episodes=episodes,
        flips=tuple(flips),
        same=same,
        wording=wording,
        scores=tuple(scores),
        right=(right["before"], right["after"], right["of"]),
        costs=(_total([cost for cost, _ in costs]), _total([cost for _, cost in costs])),
        left_out=left_out,
    )


def changes(old: str, new: str) -> Iterator[Change]:
    """The words that stay, go and come."""
    left, right = _WORDS.findall(old), _WORDS.findall(new)
    for kind, first, last, start, end in difflib.SequenceMatcher(a=left, b=right, autojunk=False).get_opcodes():
        if kind == "equal":
            yield Change("same", "".join(left[first:last]))
            continue
        if first < last:
            yield Change("gone", "".join(left[first:last]))
        if start < end:
            yield Change("new", "".join(right[start:end]))


def _flip(desk: Desk, episode: Episode, old: CriterionResult, new: CriterionResult) -> Flip:
    item = next((item for item in episode.items if item.criterion == new.id), None)
    people: str | None = None
    if item is not None:
        firsts = Counter(opinion.first.verdict for opinion in desk.opinions(item).values() if opinion.first is not None)
        if firsts:
            verdict, most = firsts.most_common(1)[0]
            people = verdict if 2 * most > firsts.total() else None
    return Flip(episode.key, new.id, old, new, people, item.id if item else None)


def _pairs(one: Grade, two: Grade) -> Iterator[tuple[CriterionResult, CriterionResult]]:
    before = {result.id: result for leaf in one.leaves() for result in leaf.parts or (leaf,)}
    for leaf in two.leaves():
        for result in leaf.parts or (leaf,):
            if result.id in before and result.by != "human":
                yield before[result.id], result


def _name(grade: Grade) -> str:
    return f"{_short(grade.rubric.hash)}-{_short(grade.judge.hash) if grade.judge else 'code'}"


def _version(name: str, grade: Grade, number: int) -> Version:
    label = f" {grade.rubric.version}" if grade.rubric.version else ""
    judge = f"{grade.judge.id} ({_short(grade.judge.hash)})" if grade.judge else "nobody"
    return Version(name, f"{grade.rubric.id}{label} ({_short(grade.rubric.hash)})", judge, number)


def _title(version: Version, *, rubrics: int, judges: int) -> str:
    if rubrics == 1 and judges > 1:
        return f"judged by {version.judge}"
    return version.rubric if judges == 1 else f"{version.rubric}, judged by {version.judge}"


def _short(digest: str) -> str:
    return digest.removeprefix("sha256:")[:8]


def _total(costs: Sequence[float | None]) -> float | None:
    return None if None in costs else sum(cost for cost in costs if cost is not None)
