"""`rubricgrade diff`: two rubrics, or the grades of two places."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rubricgrade.cli import choices
from rubricgrade.cli.output import print_json
from rubricgrade.errors import Fault, InputError

if TYPE_CHECKING:
    from rubricgrade.authoring.grade_changes import GradeChanges
    from rubricgrade.authoring.rubric_changes import Change, RubricChanges

SHOWN = 20


def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="A rubric, a grade file, or a folder of grades.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="The same, later.")],
    *,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Every flip, with both reasons.")] = False,
    json: choices.Json = False,
) -> None:
    """Compare two rubrics (wording, points, what must be asked again) or two sets of grades (flips, scores)."""
    from rubricgrade.report.visible import visible

    rubrics = [_is_rubric(place) for place in (before, after)]
    if rubrics[0] != rubrics[1]:
        raise InputError(Fault(f"{before} and {after}: one is a rubric and the other is not"))
    found = _rubrics(before, after) if rubrics[0] else _grades(before, after)
    if json:
        print_json(found.model_dump(mode="json", by_alias=True))
        return
    for line in _lines(found, whole=verbose):
        typer.echo(visible(line))


def _is_rubric(place: Path) -> bool:
    from rubricgrade.loading.rubric import rubric_file

    file = rubric_file(place)
    return file.is_file() and file.suffix in {".yaml", ".yml"}


def _rubrics(before: Path, after: Path) -> RubricChanges:
    from rubricgrade.authoring.rubric_changes import rubric_changes
    from rubricgrade.loading import load_rubric

    return rubric_changes(load_rubric(before, partial=True), load_rubric(after, partial=True))


def _grades(before: Path, after: Path) -> GradeChanges:
    from rubricgrade.authoring.grade_changes import grade_changes
    from rubricgrade.report.collecting import collect

    old, new = (collect(place).entries for place in (before, after))
    return grade_changes([entry.grade for entry in old], [entry.grade for entry in new])


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
    from rubricgrade.report.numbers import count, number

    for moved in found.moved if whole else found.moved[:SHOWN]:
        one, two = ("ungraded" if score is None else number(score) for score in (moved.before, moved.after))
        yield f"{moved.episode}: {one} -> {two}"
    if not whole and len(found.moved) > SHOWN:
        yield f"and {len(found.moved) - SHOWN} more (--verbose)"
    for item, ways in found.by_item.items():
        yield f"{item}: " + ", ".join(f"{n} {way}" for way, n in ways.items())
    for flip in found.flips if whole else ():
        yield f"{flip.episode} {flip.item}: {flip.before} -> {flip.after}"
        yield f"  before: {flip.reason_before}"
        yield f"  after:  {flip.reason_after}"
    alone = len(found.only_before) + len(found.only_after)
    unpaired = f", {count(alone, 'episode')} on one side only" if alone else ""
    means = ""
    if found.mean_before is not None and found.mean_after is not None:
        means = f"; mean of {found.scored}: {number(found.mean_before)} -> {number(found.mean_after)}"
    yield (
        f"{count(found.paired, 'episode')} on both sides{unpaired}: {count(len(found.moved), 'score')} moved, "
        f"{count(len(found.flips), 'verdict')} flipped{means}"
    )
