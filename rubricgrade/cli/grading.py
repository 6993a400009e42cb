"""`rubricgrade grade`: grade stored trajectories, write and print the grades; the exit code says how it went."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from rubricgrade.cli.choices import ExecutedBy, JudgeBaseFirst, JudgeRpm
from rubricgrade.cli.interrupts import complete, exit_code
from rubricgrade.cli.output import note, print_json

if TYPE_CHECKING:
    from rubricgrade.cli.request import Request
    from rubricgrade.errors import Fault
    from rubricgrade.report.summary import Summary
    from rubricgrade.result import Grade

SCHEMA = "rubricgrade.grades/1"
MOST = 100


class Unverified(StrEnum):
    """What an answer counts as whose quotes are not found."""

    open = "open"
    flag = "flag"


class Made(NamedTuple):
    """One grade, the name of the folder that its trajectory came from (if any), and where it was written to."""

    grade: Grade
    place: str
    file: str | None


def _votes(value: str | None) -> str | None:
    if value is None or value == "adaptive" or (value.isdecimal() and 1 <= int(value) <= MOST):
        return value
    raise typer.BadParameter(f"is 1 to {MOST}, or 'adaptive'")


def _batch(value: str | None) -> str | None:
    if value is None or value == "all" or (value.isdecimal() and 1 <= int(value) <= MOST):
        return value
    raise typer.BadParameter(f"is 1 to {MOST}, or 'all'")


def _finite(value: float | None) -> float | None:
    if value is None or math.isfinite(value):
        return value
    raise typer.BadParameter("is a finite number")


def grade(
    rubric: Annotated[Path, typer.Argument(metavar="RUBRIC", help="A rubric file, or its folder.")],
    trajectories: Annotated[
        list[Path],
        typer.Argument(metavar="TRAJECTORY", help="Trajectory files, episode folders, or folders of episode folders."),
    ],
    *,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL[,MODEL]",
            envvar="RUBRICGRADE_JUDGE",
            help="The model that judges, by its litellm name; several are a panel.",
        ),
    ] = None,
    escalate: Annotated[
        str | None, typer.Option(metavar="MODEL", help="A stronger model that decides where the votes leave a doubt.")
    ] = None,
    api_base: JudgeBaseFirst = None,
    offline: Annotated[
        bool,
        typer.Option(
            "--offline",
            help="Ask no model: recorded verdicts and the cache only. Takes verdicts.jsonl beside the rubric unless "
            "--verdicts is given.",
        ),
    ] = False,
    verdicts: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Recorded verdicts (JSONL). May be repeated.")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="FILE", envvar="RUBRICGRADE_CACHE", help="The verdict cache. Default: the user's own."),
    ] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Neither read nor fill the verdict cache.")] = False,
    votes: Annotated[
        str | None, typer.Option(metavar="N|adaptive", callback=_votes, help="Independent verdicts per criterion.")
    ] = None,
    batch: Annotated[
        str | None, typer.Option(metavar="N|all", callback=_batch, help="Criteria that are asked in one call.")
    ] = None,
    unverified: Annotated[
        Unverified,
        typer.Option(help="What an answer counts as whose quotes are not found: it stays open, or counts, flagged."),
    ] = Unverified.open,
    canary: Annotated[
        bool, typer.Option("--canary", help="One more call per record shows whether the judge says yes to anything.")
    ] = False,
    max_cost: Annotated[
        float | None, typer.Option(min=0, callback=_finite, help="Stop judging at so many US dollars.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Write grades to DIR/<trajectory id>/grades/; DIR may be a URL."
        ),
    ] = None,
    no_store: Annotated[bool, typer.Option("--no-store", help="Write no grade files.")] = False,
    vars_: Annotated[
        list[str] | None,
        typer.Option("--vars", metavar="FILE|NAME=VALUE", help="Values of the rubric's vars. May be repeated."),
    ] = None,
    min_score: Annotated[
        float | None, typer.Option(min=0, max=1, callback=_finite, help="Exit with 1 if the mean score is below this.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")] = False,
    concurrency: Annotated[int, typer.Option(min=1, help="Trajectories, and judge calls, at a time.")] = 8,
    judge_rpm: JudgeRpm = None,
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
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what judging would take, per criterion, and call no model.")
    ] = False,
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
    from rubricgrade.judge.options import JudgeOptions
    from rubricgrade.report.summary import summarise
    from rubricgrade.runs.executing import elsewhere

    options = JudgeOptions(
        model=judge,
        escalate=escalate,
        api_base=api_base,
        offline=offline,
        verdicts=tuple(verdicts or ()),
        cache=False if no_cache else cache,
        votes="adaptive" if votes == "adaptive" else int(votes) if votes else None,
        batch="all" if batch == "all" else int(batch) if batch else None,
        unverified=unverified.value,
        canary=canary,
        max_cost=max_cost,
        concurrency=concurrency,
        per_minute=judge_rpm,
    )
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
    if dry_run:
        _plan(request, json=json)
        return
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
    if json:
        print_json(_document(made, summary, request.skipped))
    else:
        _print(made, summary, quiet=quiet)
    raise typer.Exit(summary.exit_code)


def _plan(request: Request, *, json: bool) -> None:
    from rubricgrade.grading.planning import aplan
    from rubricgrade.report.plan import plan_document, plan_lines

    plan = complete(aplan(request.trajectories, request.rubric, judge=request.judge))
    if json:
        print_json(plan_document(plan))
        return
    for line in plan_lines(plan):
        typer.echo(line)


def _document(made: Sequence[Made], summary: Summary, skipped: Sequence[Fault]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "grades": [each.grade.model_dump(mode="json") for each in made],
        "files": [each.file for each in made],
        "skipped": [str(fault) for fault in skipped],
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


def _progress(total: int, *, shown: bool) -> AbstractContextManager[Callable[[], None]]:
    """A progress bar on stderr, if somebody looks at it; the context's value moves it by one."""
    if not shown or not sys.stderr.isatty():
        return nullcontext(lambda: None)
    from rubricgrade.cli.progress import bar

    return bar(total)
