"""`rubricgrade diff`: two rubrics, the grades of two places, or those of one place and what they have replaced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rubricgrade.cli import choices
from rubricgrade.cli.expecting import takes
from rubricgrade.cli.kinds import GRADE, GRADED, RUBRIC
from rubricgrade.cli.output import print_json
from rubricgrade.errors import Fault, InputError

if TYPE_CHECKING:
    from rubricgrade.authoring.rubric_changes import Change, RubricChanges
    from rubricgrade.report.grade_changes import GradeChanges, TaskChange

SHOWN = 20
"""Episodes."""

NAMED = 5
"""Rubrics, judges, verdicts or items in one line."""


def diff(
    before: Annotated[
        str,
        typer.Argument(
            metavar="BEFORE",
            help="A rubric, a run's folder or URL, a folder of grades, or a grade file.",
            callback=takes(RUBRIC, GRADED, GRADE),
        ),
    ],
    after: Annotated[
        str | None,
        typer.Argument(
            metavar="AFTER",
            help="The same, later. Without it: the grades in BEFORE against those they replaced.",
            callback=takes(RUBRIC, GRADED, GRADE),
        ),
    ] = None,
    *,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Every flip, with both reasons.")] = False,
    json: choices.Json = False,
) -> None:
    """Compare two rubrics (wording, points, what must be asked again) or two sets of grades (verdicts, scores, means).

    Grades of the same episodes are compared verdict by verdict; two runs of other episodes by their tasks' means.
    """
    from rubricgrade.report.visible import visible

    found = _compared(before, after)
    if json:
        print_json(found.model_dump(mode="json", by_alias=True))
        return
    for line in _lines(found, whole=verbose):
        typer.echo(visible(line))


def _compared(before: str, after: str | None) -> RubricChanges | GradeChanges:
    if after is None:
        if _is_rubric(before):
            raise InputError(Fault("is a rubric: name the one to compare it with", before))
        return _grades(before, None)
    kinds = _is_rubric(before), _is_rubric(after)
    if kinds[0] != kinds[1]:
        raise InputError(Fault(f"{before} and {after}: one is a rubric and the other is not"))
    return _rubrics(Path(before), Path(after)) if kinds[0] else _grades(before, after)


def _is_rubric(place: str) -> bool:
    from rubricgrade.loading.rubric import rubric_file

    file = rubric_file(Path(place))
    return file.is_file() and file.suffix in {".yaml", ".yml"}


def _rubrics(before: Path, after: Path) -> RubricChanges:
    from rubricgrade.authoring.rubric_changes import rubric_changes
    from rubricgrade.loading import load_rubric

    return rubric_changes(load_rubric(before, partial=True), load_rubric(after, partial=True))


def _grades(before: str, after: str | None) -> GradeChanges:
    from rubricgrade.report.collecting import collect, collect_replaced
    from rubricgrade.report.grade_changes import grade_changes

    old, new = (collect_replaced(before), collect(before)) if after is None else (collect(before), collect(after))
    return grade_changes(old.entries, new.entries)


def _lines(found: RubricChanges | GradeChanges, *, whole: bool) -> Iterator[str]:
    from rubricgrade.authoring.rubric_changes import RubricChanges

    return _of_rubrics(found) if isinstance(found, RubricChanges) else _of_grades(found, whole=whole)


def _of_rubrics(found: RubricChanges) -> Iterator[str]:
    from rubricgrade.report.numbers import count

    for change in found.changes:
        yield f"{change.item}{f' {change.key}' if change.key else ''}: {_told(change)}  ({change.effect})"
    asked = len({change.item for change in found.changes if change.effect == "asked anew"})
    yield f"{count(len(found.changes), 'change')}; a judge has to be asked again about {count(asked, 'item')}"


def _told(change: Change) -> str:
    if change.before is None:
        return f"new: {change.after}"
    if change.after is None:
        return f"gone: {change.before}"
    return change.words or "changed"


def _of_grades(found: GradeChanges, *, whole: bool) -> Iterator[str]:
    from rubricgrade.report.numbers import count

    for basis in found.bases:
        yield f"{basis.what}: {_listed(basis.before)} -> {_listed(basis.after)}"
    yield from _tasks(found.tasks)
    yield from _verdicts(found)
    for moved in found.moved if whole else found.moved[:SHOWN]:
        restated = moved.status_before != moved.status_after
        one = _scored(moved.before, moved.status_before, told=restated)
        two = _scored(moved.after, moved.status_after, told=restated)
        yield f"{moved.episode}: {one} -> {two}"
    if not whole and len(found.moved) > SHOWN:
        yield f"and {len(found.moved) - SHOWN} more (--verbose)"
    for flip in (*found.flips, *found.one_sided) if whole else ():
        yield f"{flip.episode} {flip.item}: {flip.before} -> {flip.after}"
        yield f"  before: {flip.reason_before}"
        yield f"  after:  {flip.reason_after}"
    if found.compared == "tasks":
        yield "other episodes on both sides, so their tasks are compared"
        return
    alone = len(found.only_before) + len(found.only_after)
    unpaired = f", {count(alone, 'episode')} on one side only" if alone else ""
    statuses = "".join(f", {n} {way}" for way, n in found.statuses.items())
    one_sided = f", {len(found.one_sided)} there on one side only" if found.one_sided else ""
    yield (
        f"{count(found.paired, 'episode')} on both sides{unpaired}: {count(len(found.moved), 'score')} moved"
        f"{statuses}, {count(len(found.flips), 'verdict')} flipped{one_sided}"
    )


def _scored(score: float | None, status: str, *, told: bool) -> str:
    from rubricgrade.report.numbers import number

    if score is None:
        return status
    return f"{number(score)} ({status})" if told else number(score)


def _listed(names: Sequence[str]) -> str:
    rest = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + rest


def _tasks(rows: Sequence[TaskChange]) -> Iterator[str]:
    """A table of means; in it an interval that holds 0 says that no change is seen."""
    from rubricgrade.cli.scoring import aligned

    table = [["task", "scores", "before", "after", "change", "95% interval"]]
    for row in rows:
        old, new = row.counted
        scores = str(old) if old == new else f"{old}, {new}"
        means = ("-" if value is None else f"{value:.3f}" for value in (row.before, row.after))
        change = "-" if row.difference is None else f"{row.difference:+.3f}"
        spread = "-" if row.interval is None else f"{row.interval[0]:+.3f} to {row.interval[1]:+.3f}"
        table.append([row.task, scores, *means, change, spread])
    yield from aligned(table)


def _verdicts(found: GradeChanges) -> Iterator[str]:
    """Items with the most changes first."""
    for item, ways in found.by_item.items():
        yield f"{item}: " + ", ".join(f"{n} {way}" for way, n in ways.items())
    for item, sides in found.verdicts.items():
        if all(sides) and sides[0] != sides[1]:
            yield f"{item}: " + " -> ".join(
                _listed([f"{n} {verdict}" for verdict, n in side.items()]) for side in sides
            )
    if found.new_items:
        yield f"new: {_listed(found.new_items)}"
    if found.gone_items:
        yield f"gone: {_listed(found.gone_items)}"
