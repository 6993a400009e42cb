"""`rubricgrade report`: a run as one file, for people (HTML), pull requests (Markdown) and CI (JUnit)."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rubricgrade.cli.expecting import takes
from rubricgrade.cli.kinds import GRADE, GRADED
from rubricgrade.cli.output import note
from rubricgrade.errors import Fault, InputError, StoreError


class Format(StrEnum):
    """What is written."""

    HTML = "html"
    MD = "md"
    JUNIT = "junit"


def report(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="A run's folder or its URL, a folder of grades, or a grade file.",
            callback=takes(GRADED, GRADE),
        ),
    ],
    *,
    format_: Annotated[Format, typer.Option("--format", help="What to write.")] = Format.HTML,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Where to. Default: for html, report.html in RUN's folder; else standard output.",
        ),
    ] = None,
    min_score: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="A bar: for the mean (as for `grade`, 1 is below it), and in JUnit for every episode."
        ),
    ] = None,
) -> None:
    """Sum up a run: scores, how often each criterion is met, points lost, what is ungraded and why, the evidence."""
    from rubricgrade.report.collecting import collect
    from rubricgrade.report.overview import overview

    if output is None and format_ is Format.HTML:
        output = _in_folder(run)
    found = overview(collect(run), min_score=min_score)
    if format_ is Format.HTML:
        from rubricgrade.report.html import html_report

        text = html_report(found)
    elif format_ is Format.MD:
        from rubricgrade.report.markdown import markdown_report

        text = markdown_report(found)
    else:
        from rubricgrade.report.junit import junit_report

        text = junit_report(found, at_least=min_score)
    if output is None:
        sys.stdout.write(text)
    else:
        _write(output, text)
        note(f"written to {output.absolute()}")
    if min_score is not None:
        raise typer.Exit(found.summary.exit_code)


def _in_folder(run: str) -> Path:
    """Where a page goes that nobody named a place for: to what it is about.

    Raises:
        InputError: That is no folder of this machine.
    """
    folder = Path(run)
    if folder.exists() and not folder.is_dir():
        raise InputError(Fault("is a file: say where the page goes with -o FILE", run))
    if "://" in run:
        raise InputError(Fault("is no folder of this machine: say where the page goes with -o FILE", run))
    return folder / "report.html"


def _write(path: Path, text: str) -> None:
    """Write the whole file or nothing."""
    from rubricgrade.readers.native import replace_file

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode("utf-8"))
    except OSError as error:
        raise StoreError(f"can't write {path}: {error.strerror or error}") from error
