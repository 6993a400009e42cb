"""The program's verbs and its own options."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

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
    regrading,
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

Verb = tuple[str, Callable[..., None] | typer.Typer, str]
"""Its name, what it does or its own verbs, and a line about it that fits into 80 columns with the name."""

GROUPS: dict[str, tuple[Verb, ...]] = {
    "Grade": (
        ("grade", grading.grade, "Grade trajectories with a rubric."),
        ("show", showing.show, "Print a grade with all that it stands on."),
        ("report", reporting.report, "Sum up graded episodes as one file: HTML, Markdown, JUnit."),
        ("diff", diffing.diff, "Compare two rubrics, or two sets of grades."),
    ),
    "Run": (
        ("run", running.run, "Run an agent on tasks, and grade what it leaves."),
        ("score", scoring.score, "Solved attempts, pass@k and mean reward of a run."),
        ("regrade", regrading.regrade, "Grade a run again, without an agent."),
        ("calibrate", calibrating.calibrate, "Keep, drop or inspect each task of a run."),
        ("export", exporting.export, "Write a run as Parquet or JSON lines."),
    ),
    "Review": (
        ("review", reviewing.review, "Audit what judges decided, in a browser."),
        ("agreement", agreement.agreement, "Compare a judge with people, and say what it may decide."),
        ("judge", judging.app, "Examine a judge before it is trusted."),
    ),
    "Author": (
        ("init", starting.init, "Begin a rubric that works at once."),
        ("lint", linting.lint, "Check rubrics without running anything."),
        ("test", testing.try_examples, "Try a rubric on its own examples."),
        ("preview", previewing.preview, "Decide one criterion on a few episodes."),
        ("probe", probing.probe, "See what agents earn that did not do the work."),
        ("convert", converting.convert, "Convert rubrics and trajectories."),
        ("schema", schemas.schema, "Print the JSON Schema of a file format."),
    ),
    "Deliver": (
        ("task", tasks.app, "Prove tasks, take them in, hand them on."),
        ("redteam", redteaming.redteam, "Try known cheats on tasks."),
        ("deliver", delivering.app, "Make deliveries with a held-out split, and verify them."),
        ("uplift", delivering.uplift, "Compare runs before and after training."),
    ),
    "Serve": (("serve", serving.serve, "Grade over HTTP, for trainers."),),
    "Maintain": (
        ("doctor", doctor.doctor, "Say what this host can enforce, and what to do about it."),
        ("sandbox", sandboxes.app, "Build templates, try a provider, clean up."),
        ("cache", caching.app, "Look at the verdict cache, export it, empty it."),
    ),
}
"""What a person does, and with which verbs."""


class _Grouped(TyperGroup):
    """Help that lists verbs under what a person does with them."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - the library's signature
        width = max(map(len, self.commands))
        for group, verbs in GROUPS.items():
            with formatter.section(group):
                # Names are as wide everywhere, so that all groups have the same columns.
                formatter.write_dl([(name.ljust(width), line) for name, _, line in verbs])


app = typer.Typer(
    name="rubricgrade",
    cls=_Grouped,
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


for _name, _does, _ in chain.from_iterable(GROUPS.values()):
    if isinstance(_does, typer.Typer):
        app.add_typer(_does, name=_name)
    else:
        app.command(_name)(_does)
