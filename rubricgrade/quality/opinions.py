"""Where those who decide are divided on one trajectory: votes, reviewers, a judge against the reference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rubricgrade.agreement.joining import row_of
from rubricgrade.agreement.measures import CANNOT_TELL
from rubricgrade.episode.task import Task
from rubricgrade.quality.records import Doubt
from rubricgrade.result import Grade
from rubricgrade.review.items import items_of
from rubricgrade.review.opinions import Opinion, opinions_on, settled
from rubricgrade.review.records import Record, read_records, record_files
from rubricgrade.rubric.rules import placed
from rubricgrade.runs.calibration import split_votes
from rubricgrade.runs.standing import Attempt

WORDING = "say in the description, or in `guidance`, what decides it; or decide it by a check"
HALF = 0.5
"""Of what a judged criterion is worth: less than that to the reference, and one of the two is wrong."""


def lost(task: Task, grade: Grade, *, below: float = 1.0) -> list[str]:
    """Gates and criteria that brought a grade less than this share of what they are worth. Penalties are worth 0."""
    signs = {one.criterion.id: one.sign for one in placed(task.rubric)}
    counted = [leaf for leaf in grade.leaves() if leaf.points != 0]
    return [
        item.id
        for item in (*grade.gates, *counted)
        if item.value is not None and (item.value if signs.get(item.id, 1) > 0 else 1 - item.value) < below
    ]


def against_the_reference(task: Task, grade: Grade, places: Mapping[str, str]) -> Iterator[Doubt]:
    """Judged criteria that the reference fails."""
    failed = {*lost(task, grade, below=HALF)}
    for leaf in grade.leaves():
        if leaf.by == "judge" and leaf.id in failed:
            yield Doubt(
                kind="ambiguous",
                what=f"the reference solution fails the judged criterion {leaf.id}",
                evidence=(
                    f"{leaf.id}: {leaf.description}",
                    f"verdict {leaf.verdict}: {leaf.reasoning or leaf.message}",
                ),
                place=places.get(leaf.id, ""),
                remedy=f"mend the solution if the judge is right; else {WORDING}",
            )


def divided_votes(grades: Iterable[tuple[str, Grade]], places: Mapping[str, str]) -> Iterator[Doubt]:
    """Criteria on which the votes of a judge split; one doubt for each, whatever the number of trajectories.

    Args:
        grades: With a name for each.
        places: ``file:line`` by criterion.
    """
    found: dict[str, list[str]] = {}
    for name, grade in grades:
        for item, answers in split_votes(grade).items():
            said = ", ".join(f"{answer} {times}" for answer, times in sorted(answers.items()))
            found.setdefault(item, []).append(f"{name}: {said}")
    for item, evidence in found.items():
        yield Doubt(
            kind="ambiguous",
            what=f"the judge's votes on {item} split on the same trajectory",
            evidence=tuple(evidence),
            place=places.get(row_of(item), ""),
            remedy=WORDING,
        )


def divided_reviewers(task: Task, attempts: Sequence[Attempt], places: Mapping[str, str]) -> Iterator[Doubt]:
    """Criteria on which reviewers differ, or which one of them called unclear; one doubt for each.

    A difference that was settled doesn't count, unless it was put down to the criterion.

    Args:
        task: Whose.
        attempts: With grades by the task's own rubric.
        places: ``file:line`` by criterion.

    Raises:
        StoreError: Records can't be read.
    """
    found: dict[str, list[str]] = {}
    for attempt in attempts:
        records = _records(attempt)
        if attempt.grade is None or not records:
            continue
        for item in items_of(attempt.line.home, attempt.grade, task.rubric):
            opinions = opinions_on(item, attempt.grade.trajectory.hash, records)
            if said := list(_said(opinions)):
                found.setdefault(item.criterion, []).extend(f"{attempt.line.home}: {each}" for each in said)
    for name, evidence in found.items():
        yield Doubt(
            kind="ambiguous",
            what=f"reviewers are divided on {name}",
            evidence=tuple(evidence),
            place=places.get(row_of(name), ""),
            remedy=WORDING,
        )


def _records(attempt: Attempt) -> dict[str, list[Record]]:
    """Each reviewer's; none where a run lives in a store, since reviewers work in folders."""
    with attempt.place.episode() as folder:
        return {file.stem: read_records(file) for file in record_files(folder)}


def _said(opinions: Mapping[str, Opinion]) -> Iterator[str]:
    """What speaks for an unclear criterion; nothing if it is no more than a difference that was settled."""
    verdict = settled(opinions.values())
    if verdict is not None:
        if verdict.cause == "criterion_ambiguous":
            yield f"{verdict.by} settled it as {verdict.verdict}, since the criterion is ambiguous: {verdict.why}"
        return
    finals = {name: opinion.final.verdict for name, opinion in opinions.items() if opinion.final is not None}
    if len({*finals.values()} - {CANNOT_TELL}) > 1:
        yield ", ".join(f"{name} {said}" for name, said in sorted(finals.items()))
    for name, opinion in sorted(opinions.items()):
        yield from (f"{name} calls it unclear: {act.why}" for act in opinion.unclear)
