"""Grades and labels brought together: what a judge decided beside what people did, and the labels that fit nothing."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rubricgrade.agreement.decision import Decision
from rubricgrade.agreement.labels import Label, named_alike
from rubricgrade.agreement.measures import CANNOT_TELL, MET, NOT_MET
from rubricgrade.errors import Fault, InputError
from rubricgrade.result import NO_VERDICT, CriterionResult, Grade, ItemResult
from rubricgrade.rubric.rules import nearest

_TWO = frozenset({MET, NOT_MET})
_ITEM = re.compile(r"\[\d+\]\Z")


@dataclass(frozen=True, slots=True)
class Joined:
    """Decisions of a judge, with people's where there are any.

    Attributes:
        decisions: Labelled or not.
        scales: For each criterion with a scale its choices, lowest first; empty if their order is not known.
        judges: Who decided, by name: models, or ``hand: NAME`` of recorded verdicts.
        rubrics: Ids and hashes of the rubrics.
        unmatched: How many labels fit nothing, by the reason.
        first_unmatched: By the same reasons: where the first such label stands and what it names.
    """

    decisions: tuple[Decision, ...]
    scales: Mapping[str, tuple[str, ...]]
    judges: tuple[str, ...]
    rubrics: tuple[str, ...]
    unmatched: Mapping[str, int]
    first_unmatched: Mapping[str, str]

    @property
    def unseen(self) -> Mapping[str, tuple[str, ...]]:
        """By criterion with a scale: choices of people that are not known to be on it, as no judge has made them."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        for each in self.decisions:
            if order := self.scales.get(each.criterion):
                found[each.criterion] |= {answer for _, answer in each.people} - {*order, CANNOT_TELL}
        return {name: tuple(sorted(words)) for name, words in found.items() if words}


@dataclass(slots=True)
class _Episode:
    judged: dict[str, CriterionResult]
    other: dict[str, str]
    people: defaultdict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))


def join(
    grades: Sequence[tuple[str, Grade]],
    labels: Iterable[Label],
    *,
    scales: Mapping[str, Sequence[str]] | None = None,
    file: str = "",
) -> Joined:
    """Put every label to the verdict that it is about.

    Args:
        grades: One for each trajectory, with the folder's name, by which labels may name the trajectory too.
        labels: What people decided.
        scales: Choices of criteria, lowest first. Without them the order is taken from the values in the grades.
        file: Names the labels' file in faults.

    Raises:
        InputError: A label names several trajectories, or gives an answer that its criterion does not have.
    """
    episodes = [
        _Episode(dict(_judged(grade.leaves())), dict(_others((*grade.gates, *grade.criteria)))) for _, grade in grades
    ]
    names: defaultdict[str, set[int]] = defaultdict(set)
    for index, (place, grade) in enumerate(grades):
        for name in (place, grade.trajectory.id, grade.trajectory.hash):
            names[name].add(index)
    known = _scales(episodes, scales or {})
    faults: list[Fault] = []
    unmatched = Counter[str]()
    first: dict[str, str] = {}

    def unused(label: Label, reason: str, name: str, among: Iterable[str]) -> None:
        unmatched[reason] += 1
        if reason not in first:
            first[reason] = f"{file or 'label'}:{label.line}: {name!r}{nearest(name, among)}"

    for label in named_alike(labels):
        found = names.get(label.trajectory, set())
        if len(found) > 1:
            places = ", ".join(sorted(grades[index][0] for index in found))
            faults.append(Fault(f"{label.trajectory!r} may be any of {places}: name one of these", file, label.line))
        elif not found:
            unused(label, "no grade of such a trajectory is here", label.trajectory, names)
        else:
            episode = episodes[next(iter(found))]
            if label.criterion not in episode.judged:
                reason = episode.other.get(label.criterion, "the rubric has no such criterion")
                unused(label, reason, label.criterion, () if label.criterion in episode.other else episode.judged)
            elif wanted := _wrong(label, known, scales or {}):
                message = f"{label.verdict!r} is no verdict on {label.criterion}; one of {', '.join(wanted)} is"
                faults.append(Fault(message, file, label.line))
            elif label.by in dict(episode.people[label.criterion]):
                message = (
                    f"{label.by} has decided {label.criterion} of this trajectory already, under another name of it"
                )
                faults.append(Fault(message, file, label.line))
            else:
                episode.people[label.criterion].append((label.by, label.verdict))
    if faults:
        raise InputError(faults)
    results = [result for episode in episodes for result in episode.judged.values()]
    return Joined(
        decisions=tuple(_decisions(grades, episodes)),
        scales={name: order for name, order in known.items() if order is not None},
        judges=tuple(sorted({result.judge.model for result in results if result.judge and result.judge.model})),
        rubrics=tuple(sorted({f"{grade.rubric.id} {grade.rubric.hash}" for _, grade in grades})),
        unmatched=dict(unmatched),
        first_unmatched=first,
    )


def row_of(result: str) -> str:
    """The criterion that an item of a `for_each` belongs to; any other id as it is."""
    return _ITEM.sub("", result)


def answer_of(result: CriterionResult) -> str | None:
    """What the judge said; None if it said nothing that counts, which is a fault of ours and no abstention."""
    if result.verdict in NO_VERDICT or (result.verdict == CANNOT_TELL and result.cause not in (None, CANNOT_TELL)):
        return None
    return result.verdict


def _judged(leaves: Iterable[CriterionResult]) -> Iterator[tuple[str, CriterionResult]]:
    for leaf in leaves:
        if leaf.by == "judge" and leaf.verdict != "not_applicable":
            yield from ((part.id, part) for part in leaf.parts or (leaf,) if not _unasked(part))


def _unasked(result: CriterionResult) -> bool:
    """Decided although no judge was asked: a `for_each` without items, or one whose items the agent spoiled."""
    return result.judge is None and result.verdict not in NO_VERDICT


def _others(results: Iterable[ItemResult]) -> Iterator[tuple[str, str]]:
    """Why there is no verdict of a judge to compare with."""
    for result in results:
        if not isinstance(result, CriterionResult):
            yield result.id, "a gate is decided by code"
        elif result.by == "criteria":
            yield result.id, "a group is decided by what is in it"
            yield from _others(result.parts)
        elif result.verdict == "not_applicable":
            yield result.id, "the criterion does not apply there"
        elif result.by != "judge":
            yield result.id, f"the criterion is decided by {result.by}, not by a judge"
        elif result.parts:
            yield result.id, "the criterion has items, labelled as ID[1], ID[2] and so on"
        else:
            yield result.id, "no judge was asked there"


def _scales(episodes: Sequence[_Episode], given: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...] | None]:
    """For each criterion that was decided: None if it has two answers, its choices in order, or () if unknown."""
    seen: defaultdict[str, set[tuple[float | None, str]]] = defaultdict(set)
    for episode in episodes:
        for name, result in episode.judged.items():
            answer = answer_of(result)
            if answer is not None and answer != CANNOT_TELL:
                seen[row_of(name)].add((result.value, answer))
    # The rubric that was given may be another than the one that was graded with.
    fits = {name for name, answers in seen.items() if {answer for _, answer in answers} <= set(given.get(name, ()))}
    return {name: tuple(given[name]) if name in fits else _order(answers) for name, answers in seen.items()}


def _order(answers: set[tuple[float | None, str]]) -> tuple[str, ...] | None:
    """A scale's choices by their values; a criterion's threshold makes values equal and hides the order."""
    if all(answer in _TWO for _, answer in answers):
        return None
    values = [value for value, _ in answers if value is not None]
    if len(values) < len(answers) or len(set(values)) < len(values) or len({name for _, name in answers}) < len(values):
        return ()
    return tuple(answer for _, answer in sorted((value or 0.0, answer) for value, answer in answers))


def _wrong(
    label: Label, known: Mapping[str, tuple[str, ...] | None], given: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """The verdicts that the criterion has, if the label's is none of them."""
    if label.verdict == CANNOT_TELL or row_of(label.criterion) not in known:
        return ()
    order = known[row_of(label.criterion)]
    if order is None:
        return () if label.verdict in _TWO else (MET, NOT_MET, CANNOT_TELL)
    # An order that was read off the grades may lack a choice that no judge has made.
    whole = bool(order) and order == tuple(given.get(row_of(label.criterion), ()))
    return (*order, CANNOT_TELL) if label.verdict not in order and (whole or label.verdict in _TWO) else ()


def _decisions(grades: Sequence[tuple[str, Grade]], episodes: Sequence[_Episode]) -> Iterator[Decision]:
    for (place, _), episode in zip(grades, episodes, strict=True):
        for name, result in episode.judged.items():
            people = tuple(sorted(episode.people.get(name, ())))
            yield Decision(place, row_of(name), answer_of(result), people)
