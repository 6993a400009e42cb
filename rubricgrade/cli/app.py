"""The program's verbs and its own options."""

from __future__ import annotations

from typing import Annotated

import typer

from rubricgrade.cli import (
    agreement,
    caching,
    calibrating,
    converting,
    delivering,
    diffing,
    doctor,
    exporting,
    grading,
    judging,
    linting,
    previewing,
    probing,
    redteaming,
    reporting,
    reviewing,
    running,
    sandboxes,
    schemas,
    scoring,
    serving,
    showing,
    starting,
    tasks,
    testing,
)
from rubricgrade.version import __version__

app = typer.Typer(
    name="rubricgrade",
    help="Grade what an agent did with a rubric: gates, weighted criteria, evidence, and a score from 0 to 1.",
    epilog="Exit codes: 0 done; 1 below the bar that was asked for; 2 bad input; 3 something is ungraded; "
    "4 the cost cap stopped it; 130 interrupted.",
    no_args_is_help=True,
    # Plain help: it reads the same in a pipe, at any width and in any encoding.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rubricgrade {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Take the program's own options; `--version` has acted by now."""


app.command("grade")(grading.grade)
app.command("init")(starting.init)
app.command("lint")(linting.lint)
app.command("test")(testing.try_examples)
app.command("preview")(previewing.preview)
app.command("probe")(probing.probe)
app.command("diff")(diffing.diff)
app.command("report")(reporting.report)
app.command("show")(showing.show)
app.command("schema")(schemas.schema)
app.command("doctor")(doctor.doctor)
app.command("agreement")(agreement.agreement)
app.command("run")(running.run)
app.command("score")(scoring.score)
app.command("regrade")(running.regrade)
app.command("calibrate")(calibrating.calibrate)
app.command("convert")(converting.convert)
app.command("export")(exporting.export)
app.command("review")(reviewing.review)
app.command("serve")(serving.serve)
app.command("redteam")(redteaming.redteam)
app.command("uplift")(delivering.uplift)
app.add_typer(delivering.app, name="deliver")
app.add_typer(tasks.app, name="task")
app.add_typer(judging.app, name="judge")
app.add_typer(caching.app, name="cache")
app.add_typer(sandboxes.app, name="sandbox")
