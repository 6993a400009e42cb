"""`rubricgrade probe`: what does an agent earn that did not do the work?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rubricgrade.cli import choices
from rubricgrade.cli.expecting import takes
from rubricgrade.cli.interrupts import complete
from rubricgrade.cli.kinds import EPISODE, RUBRIC
from rubricgrade.cli.output import note, print_json
from rubricgrade.report.exits import Exit

if TYPE_CHECKING:
    from rubricgrade.authoring.probing import Earned, Probe


@choices.judged
def probe(
    rubric: Annotated[
        Path,
        typer.Argument(
            metavar="RUBRIC", help="A rubric file, its folder, or a ready one's name.", callback=takes(RUBRIC)
        ),
    ],
    *,
    like: Annotated[
        Path | None,
        typer.Option(
            metavar="EPISODE",
            callback=takes(EPISODE),
            help="An episode of the task: gives the instruction and the template.",
        ),
    ] = None,
    judging: choices.Judging,
    vars_: choices.Variables = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if one of them earns too much.")] = False,
    json: choices.Json = False,
) -> None:
    """Grade agents that did not do the work: one that does nothing, bluffs, strings keywords together, is verbose.

    Exit codes: 0 done; 1 one earns too much, with --strict; 3 without a judge it can't be told, with --strict.
    """
    from rubricgrade.authoring.deciding import deciding
    from rubricgrade.authoring.probing import probe as probed
    from rubricgrade.cli.variables import read_vars
    from rubricgrade.grading.judges import Judges
    from rubricgrade.loading import load_rubric
    from rubricgrade.loading.rubric import rubric_file
    from rubricgrade.readers import load_trajectory

    loaded = load_rubric(rubric, vars=read_vars(vars_ or ()))
    file = rubric_file(rubric)
    options = deciding(loaded, file, choices.judge_options(judging))
    if like is None and loaded.examples:
        like = file.parent / loaded.examples[0].trajectory
    episode = load_trajectory(like) if like is not None else None
    done = complete(probed(loaded, judge=Judges(options), like=episode))
    if json:
        print_json(done.model_dump(mode="json", by_alias=True))
    else:
        for line in _lines(done):
            typer.echo(line)
    concerns = [one for one in done.earned if one.concern]
    for one in concerns:
        note(f"warning: an agent that {one.agent} earns {one.bounds[0]:g} or more{_from(one)}")
    if strict and concerns:
        raise typer.Exit(Exit.BELOW)
    if strict and any(one.concern is None for one in done.earned):
        raise typer.Exit(Exit.UNGRADED)


def _lines(done: Probe) -> Iterator[str]:
    from rubricgrade.report.numbers import number, span

    width = max(len(one.agent) for one in done.earned)
    for one in done.earned:
        score = number(one.score) if one.score is not None else f"{span(one.bounds)} ({one.cause})"
        stopped = f"  stopped by {', '.join(one.gates)}" if one.gates else ""
        mark = {True: "TOO MUCH", False: "ok", None: "open"}[one.concern]
        yield f"{mark:<8}  {one.agent:<{width}}  {score}{stopped}{'' if one.gates else _from(one)}"
    if any(one.cause == "no_judge" for one in done.earned):
        yield "what is open is for a judge: --judge MODEL"


def _from(one: Earned) -> str:
    return f"  from {', '.join(one.given)}" if one.given else ""
