"""`rubricgrade grade`: grade stored trajectories, write and print the grades; the exit code says how it went."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from rubricgrade.cli.choices import DryRun, ExecutedBy, Json, Judging, Variables, finite, judge_options, judged
from rubricgrade.cli.expecting import takes
from rubricgrade.cli.interrupts import complete, exit_code, if_interrupted
from rubricgrade.cli.kinds import RUBRIC
from rubricgrade.cli.output import note, print_json
from rubricgrade.cli.recording import say_unused

if TYPE_CHECKING:
    from rubricgrade.cli.request import Request
    from rubricgrade.report.summary import Summary
    from rubricgrade.result import Grade

SCHEMA = "rubricgrade.grades/1"


class Made(NamedTuple):
    """One grade, the name of the folder that its trajectory came from (if any), and where it was written to."""

    grade: Grade
    place: str
    file: str | None


@judged
def grade(
    rubric: Annotated[
        Path,
        typer.Argument(
            metavar="RUBRIC", help="A rubric file, its folder, or a ready one's name.", callback=takes(RUBRIC)
        ),
    ],
    trajectories: Annotated[
        list[Path],
        typer.Argument(metavar="TRAJECTORY", help="Trajectory files, episode folders, or folders of episode folders."),
    ],
    *,
    judging: Judging,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Write grades to DIR/<trajectory id>/grades/; DIR may be a URL."
        ),
    ] = None,
    no_store: Annotated[bool, typer.Option("--no-store", help="Write no grade files.")] = False,
    vars_: Variables = None,
    min_score: Annotated[
        float | None, typer.Option(min=0, max=1, callback=finite, help="Exit with 1 if the mean score is below this.")
    ] = None,
    json: Json = False,
    concurrency: Annotated[int, typer.Option(min=1, help="Trajectories, and judge calls, at a time.")] = 8,
    executor: ExecutedBy = "local",
    template: Annotated[
        str | None,
        typer.Option(
            metavar="TEMPLATE",
            help="What the agent's code runs in: a folder, name or hash. Default: what the trajectory names, else the "
            "base.",
        ),
    ] = None,
    missing: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write questions without a recorded verdict, to be filled in.")
    ] = None,
    dry_run: DryRun = False,
    ungated: Annotated[bool, typer.Option("--ungated", help="Decide criteria even when a gate has failed.")] = False,
    skip_unreadable: Annotated[
        bool,
        typer.Option(
            "--skip-unreadable", help="Leave out, and list, trajectories that can't be read; then exit with 3."
        ),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress; print the summary only.")] = False,
) -> None:
    """Grade trajectories with a rubric. What can't be used stops it before anything is spent or written."""
    from rubricgrade.cli.request import Request
    from rubricgrade.report.summary import summarise
    from rubricgrade.runs.executing import elsewhere

    options = judge_options(judging, concurrency=concurrency)
    request = Request.check(
        rubric,
        trajectories,
        options,
        variables=vars_ or (),
        output=output,
        store=not no_store,
        concurrency=concurrency,
        ungated=ungated,
        missing=missing,
        template=template,
        dry_run=dry_run,
        skip_unreadable=skip_unreadable,
    )
    for fault in request.skipped:
        note(f"skipped: {fault}")
    for told in request.twice:
        note(f"warning: {told}")
    if dry_run:
        _plan(request, json=json)
        return
    kept = "grades so far are not kept (--no-store)" if no_store else "grades so far are kept"
    cached = "" if judging.no_cache else ", with judges' answers from the cache"
    if_interrupted(f"{kept}; the same command grades all again{cached}")
    total = len(request.trajectories)
    done: dict[int, Made] = {}
    with _progress(total, shown=not (quiet or json)) as advance:

        def keep(index: int, grade: Grade) -> None:
            done[index] = Made(grade, request.place(index), request.write(index, grade))
            advance()

        # Cut short, it has graded something all the same; the summary says how much.
        with suppress(KeyboardInterrupt):
            complete(request.run(keep, elsewhere(executor)))
    made = [done[index] for index in sorted(done)]
    summary = summarise([each.grade for each in made], min_score=min_score, of=total, skipped=len(request.skipped))
    summary = summary.model_copy(update={"exit_code": exit_code(summary.exit_code)})
    unused = say_unused(request.judge.verdicts, [(request.rubric, each.grade) for each in made])
    if json:
        print_json({**_document(made, summary, request), "unused_verdicts": unused})
    else:
        _print(made, summary, quiet=quiet)
    raise typer.Exit(summary.exit_code)


def _plan(request: Request, *, json: bool) -> None:
    from rubricgrade.cli.planning import print_plan
    from rubricgrade.grading.planning import aplan

    print_plan(complete(aplan(request.trajectories, request.rubric, judge=request.judge)), json=json)


def _document(made: Sequence[Made], summary: Summary, request: Request) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "grades": [each.grade.model_dump(mode="json") for each in made],
        "files": [each.file for each in made],
        "skipped": [str(fault) for fault in request.skipped],
        "twice": list(request.twice),
        "summary": summary.model_dump(mode="json"),
    }


def _print(made: Sequence[Made], summary: Summary, *, quiet: bool) -> None:
    from rubricgrade.report.lines import Line, write
    from rubricgrade.report.terminal import line_of, render, summary_lines

    if not quiet:
        write([*(line_of(each.grade, each.place) for each in made), Line()], sys.stdout, wrap=False)
    write(summary_lines(summary), sys.stdout)
    if quiet:
        return
    if len(made) == 1:
        write([Line(), *render(made[0].grade)], sys.stdout)
    written = [each.file for each in made if each.file is not None]
    if len(written) == 1:
        note(f"written to {written[0]}")
    elif written:
        note(f"{len(written)} grades written, the last to {written[-1]}")
    if any((each.grade.judge.id or "").startswith("local:") for each in made if each.grade.judge is not None):
        note("a model in this process judged: small ones show that everything works, and are no measure of quality")
    if "no_judge" in summary.causes:
        note(
            "nobody decided what is open: name a judge with --judge MODEL, or write the questions down with --missing"
            " FILE, answer them, and give them back with --verdicts FILE"
        )


def _progress(total: int, *, shown: bool) -> AbstractContextManager[Callable[[], None]]:
    """A progress bar on stderr, if somebody looks at it; the context's value moves it by one."""
    if not shown or not sys.stderr.isatty():
        return nullcontext(lambda: None)
    from rubricgrade.cli.progress import bar

    return bar(total)
