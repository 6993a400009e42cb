"""`rubricgrade convert`: rubrics and trajectories from other programs' formats and to them; says what got lost."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from rubricgrade.cli.expecting import refuse, unreadable
from rubricgrade.cli.kinds import EPISODE, LINES, RUBRIC, lying_at
from rubricgrade.cli.output import note
from rubricgrade.errors import Fault, InputError

OURS = "rubric.yaml"
TRAJECTORIES = ("atif", "trajectory")


def convert(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="What to convert; of trajectories also a folder.")],
    *,
    to: Annotated[
        str,
        typer.Option(
            metavar="FORMAT",
            help="rubric.yaml: read a rubric of another program. gandalf, rubric, healthbench, autorubric, verifiers, "
            "rewardkit: write one of ours for it. atif, trajectory: convert trajectories.",
        ),
    ] = OURS,
    from_: Annotated[
        str | None, typer.Option("--from", metavar="FORMAT", help="The format of FILE. Default: told by its content.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="PATH", help="A file; for several results a folder. Default: stdout."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if anything could not be carried over.")
    ] = False,
) -> None:
    """Convert a rubric or trajectories. What could not be carried over is listed on stderr."""
    if to in TRAJECTORIES:
        results, lost = _trajectories(source, to, from_)
    elif to == OURS:
        results, lost = _imported(source, from_)
    else:
        results, lost = _exported(source, to)
    _write(results, output)
    for line in lost:
        note(f"not carried over: {line}")
    raise typer.Exit(1 if strict and lost else 0)


Results = dict[str, Callable[[Path], object]]
"""By the name of its file: what writes it there."""


def _imported(source: Path, name: str | None) -> tuple[Results, list[str]]:
    from rubricgrade.interchange import import_rubrics

    try:
        found = import_rubrics(source, name)
    except InputError as error:
        raise InputError([*error.faults, *_instead(source)]) from error
    several = len(found) > 1
    lost = [f"{one.rubric.id}: {what}" if several else what for one in found for what in one.lost]
    return _named([(one.rubric.id, partial(_write_text, one.text)) for one in found], ".rubric.yaml"), lost


def _instead(source: Path) -> list[Fault]:
    """What FORMAT would convert a file that is no rubric of another program."""
    kind = None if unreadable(source) else lying_at(source).kind
    if kind is RUBRIC:
        return [Fault("is a rubric of this program; --to FORMAT writes it for another one", str(source))]
    if kind in (EPISODE, LINES):
        return [Fault("holds trajectories; --to atif or --to trajectory converts those", str(source))]
    return []


def _exported(source: Path, to: str) -> tuple[Results, list[str]]:
    from rubricgrade.interchange import export_rubric
    from rubricgrade.loading import load_rubric

    refuse([source], RUBRIC)
    rubric = load_rubric(source, partial=True)
    made = export_rubric(rubric, to)
    return {rubric.id: partial(_write_text, made.text)}, list(made.lost)


def _trajectories(source: Path, to: str, name: str | None) -> tuple[Results, list[str]]:
    from rubricgrade.cli.episodes import find_trajectories
    from rubricgrade.readers import load_trajectories, write_atif, write_trajectory

    if name is None:
        found = [each.trajectory for each in find_trajectories([source])]
    else:
        found = load_trajectories(source, format=name)
    lost = [f"{one.id}: {remark}" for one in found for remark in one.warnings]
    write = write_atif if to == "atif" else write_trajectory
    return _named([(one.id, partial(write, one)) for one in found], ".json"), lost


def _write_text(text: str, path: Path) -> None:
    path.write_text(text, "utf-8")


def _named(found: Sequence[tuple[str, Callable[[Path], object]]], suffix: str) -> Results:
    """Results by the names of their files, which differ."""
    results: Results = {}
    for name, write in found:
        free, count = f"{name}{suffix}", 1
        while free in results:
            count += 1
            free = f"{name}-{count}{suffix}"
        results[free] = write
    return results


def _write(results: Results, output: Path | None) -> None:
    one_file = output is None or (output.suffix in {Path(name).suffix for name in results} and not output.is_dir())
    if one_file and len(results) > 1:
        raise InputError(Fault(f"these are {len(results)} results: name a folder for them with -o"))
    try:
        if output is None:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "result"
                next(iter(results.values()))(file)
                sys.stdout.write(file.read_text("utf-8"))
        elif len(results) == 1 and not output.is_dir():
            output.parent.mkdir(parents=True, exist_ok=True)
            next(iter(results.values()))(output)
        else:
            output.mkdir(parents=True, exist_ok=True)
            for name, write in results.items():
                write(output / name)
    except OSError as error:
        raise InputError(Fault(f"can't be written: {error.strerror or error}", str(output or ""))) from error
