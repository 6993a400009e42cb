"""`rubricgrade show`: one grade with everything that it stands on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rubricgrade.cli.expecting import takes
from rubricgrade.cli.kinds import GRADE, GRADED
from rubricgrade.cli.output import note, print_json
from rubricgrade.errors import Fault, InputError, StoreError

if TYPE_CHECKING:
    from rubricgrade.result import Grade, ItemResult


def show(
    place: Annotated[
        Path,
        typer.Argument(
            metavar="GRADE_OR_EPISODE",
            help="A grade file, an episode's folder, or a folder of such.",
            callback=takes(GRADED, GRADE),
        ),
    ],
    criterion: Annotated[
        str | None, typer.Option("--criterion", "-c", metavar="ID", help="Only this gate or criterion, uncut.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the grade file's JSON.")] = False,
    prompt: Annotated[
        bool, typer.Option("--prompt", help="Print the judge's prompt for --criterion as it was sent.")
    ] = False,
    cache: Annotated[Path | None, typer.Option(metavar="FILE", help="The verdict cache that keeps the prompt.")] = None,
) -> None:
    """Print a grade: gates, points, verdicts, reasoning, and every quote with its place and whether it was found.

    Of a folder with several graded episodes: a line for each.
    """
    from rubricgrade.store.grades import grade_files

    if place.is_dir() and not (criterion or json or prompt) and not any(grade_files(place)):
        _list(place)
        return
    grade = find_grade(place)
    if prompt and criterion is None:
        raise typer.BadParameter("names a prompt only together with --criterion", param_hint="--prompt")
    item = None if criterion is None else _item(grade, criterion, place)
    if prompt and item is not None:
        from rubricgrade.cli.prompts import print_prompts

        print_prompts(item, cache)
    elif json:
        print_json((grade if item is None else item).model_dump(mode="json"))
    else:
        from rubricgrade.report.items import item_lines
        from rubricgrade.report.lines import write
        from rubricgrade.report.terminal import render

        write(render(grade) if item is None else item_lines(item, whole=True, indent=0), sys.stdout)


def find_grade(place: Path) -> Grade:
    """The grade of a file, or the latest one of an episode folder.

    Raises:
        InputError: There is none, or the file is none.
    """
    from rubricgrade.store.grades import grade_files, graded_folders, latest_grade, read_grade

    if not place.exists():
        raise InputError(Fault("no such file or folder", file=str(place)))
    try:
        grade = latest_grade(place) if place.is_dir() else read_grade(place)
    except StoreError as error:
        # Elsewhere a fault of the store; here the caller named a file that can't be shown.
        raise InputError(str(error)) from error
    if grade is None:
        if any(any(grade_files(folder)) for folder in graded_folders(place)):
            raise InputError(
                Fault("holds no grade itself; `rubricgrade show` with this folder lists those below", str(place))
            )
        raise InputError(Fault("no grade in this folder; `rubricgrade grade` makes one", str(place)))
    return grade


def _list(top: Path) -> None:
    """A line for every graded episode below a folder.

    Raises:
        InputError: There is none.
    """
    from rubricgrade.report.collecting import collect
    from rubricgrade.report.lines import write
    from rubricgrade.report.terminal import line_of

    entries = collect(top).entries
    write([line_of(each.grade, each.name) for each in entries], sys.stdout, wrap=False)
    note(f"show one of them: rubricgrade show {top / entries[0].name}")


def _item(grade: Grade, name: str, place: Path) -> ItemResult:
    items = {item.id: item for item in _all((*grade.gates, *grade.criteria))}
    if name not in items:
        raise InputError(Fault(f"no gate or criterion is called {name!r}; there are {', '.join(items)}", str(place)))
    return items[name]


def _all(items: tuple[ItemResult, ...]) -> Iterator[ItemResult]:
    from rubricgrade.result import CriterionResult

    for item in items:
        yield item
        if isinstance(item, CriterionResult):
            yield from _all(item.parts)
