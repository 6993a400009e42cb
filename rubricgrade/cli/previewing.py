"""`rubricgrade preview`: one criterion on a few episodes, again whenever the rubric is saved."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rubricgrade.cli import choices
from rubricgrade.cli.expecting import takes
from rubricgrade.cli.interrupts import complete
from rubricgrade.cli.kinds import RUBRIC
from rubricgrade.cli.output import complain, note, print_json
from rubricgrade.errors import InputError

if TYPE_CHECKING:
    from rubricgrade.authoring.previewing import Seen
    from rubricgrade.cli.episodes import Found
    from rubricgrade.report.lines import Line

SCHEMA = "rubricgrade.preview/1"


@choices.judged
def preview(
    rubric: Annotated[
        Path,
        typer.Argument(
            metavar="RUBRIC", help="A rubric file, its folder, or a ready one's name.", callback=takes(RUBRIC)
        ),
    ],
    criterion: Annotated[str, typer.Option("--criterion", "-c", metavar="ID", help="The criterion.")],
    on: Annotated[
        list[Path] | None,
        typer.Option(metavar="EPISODE", help="An episode beside the criterion's own examples. May be repeated."),
    ] = None,
    *,
    watch: Annotated[bool, typer.Option("--watch", help="Again whenever a file beside the rubric changes.")] = False,
    judging: choices.Judging,
    vars_: choices.Variables = None,
    json: choices.Json = False,
) -> None:
    """Decide one criterion on its examples and other episodes, and show verdicts, reasons and quotes together."""
    from rubricgrade.authoring.deciding import deciding
    from rubricgrade.authoring.previewing import preview as previewed
    from rubricgrade.cli.episodes import find_trajectories
    from rubricgrade.loading.rubric import rubric_file

    found = find_trajectories(on or ())
    episodes = [(_name(each, found), each.trajectory) for each in found]
    file = rubric_file(rubric)

    def show() -> None:
        from rubricgrade.cli.variables import read_vars
        from rubricgrade.grading.judges import Judges
        from rubricgrade.loading import load_rubric

        loaded = load_rubric(rubric, vars=read_vars(vars_ or ()))
        options = deciding(loaded, file, choices.judge_options(judging))
        seen = complete(previewed(loaded, file.parent, criterion, episodes, judge=Judges(options)))
        if json:
            print_json({"schema": SCHEMA, "criterion": criterion, "seen": [_document(one) for one in seen]})
        else:
            _print(seen)

    if watch:
        _watch(file.parent, show)
    else:
        show()


def _name(one: Found, among: Sequence[Found]) -> str:
    """The path of an episode, with its id if its file holds several."""
    alone = sum(each.path == one.path for each in among) == 1
    return str(one.path) if alone else f"{one.path}: {one.trajectory.id}"


def _watch(folder: Path, show: Callable[[], None]) -> None:
    from rubricgrade.authoring.previewing import changes

    for _ in changes(folder):
        try:
            show()
        except InputError as error:
            # Half-written is what a watched file mostly is: say so, and wait for the next time that it is saved.
            complain(error)
        note("waiting for a change (Ctrl+C ends it)")


def _document(seen: Seen) -> dict[str, Any]:
    return {"episode": seen.episode, "expected": seen.expected, "result": seen.result.model_dump(mode="json")}


def _print(seen: Sequence[Seen]) -> None:
    from rubricgrade.report.lines import write

    write(_lines(seen), sys.stdout)


def _lines(seen: Sequence[Seen]) -> Iterator[Line]:
    from rich.text import Text

    from rubricgrade.report.items import item_lines
    from rubricgrade.report.lines import Line
    from rubricgrade.report.visible import visible

    for one in seen:
        expected = f", expected {one.expected}" if one.expected is not None else ""
        wrong = one.expected is not None and one.expected != one.result.verdict
        head = Text(visible(one.episode), "bold")
        head.append(f": {visible(one.result.verdict)}{expected}", "bold red" if wrong else "bold green")
        yield Line(head)
        yield from item_lines(one.result, indent=2)
        yield Line()
