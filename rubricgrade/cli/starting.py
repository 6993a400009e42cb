"""`rubricgrade init`: begin a rubric."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rubricgrade.cli.expecting import unreadable
from rubricgrade.cli.output import note
from rubricgrade.errors import InputError


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder; its name becomes the rubric's id.")],
    *,
    template: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="coding, research, tool-use, office, or a ready rubric; a wrong name lists all."
        ),
    ] = "coding",
) -> None:
    """Begin a rubric: a folder with a rubric, two example episodes, recorded verdicts, and a test, all working."""
    from rubricgrade.authoring.scaffolding import start_rubric

    if fault := unreadable(folder):
        raise InputError(fault)
    made = start_rubric(folder, template)
    for path in made:
        typer.echo(str(folder / path))
    note(f"next: cd {folder} && rubricgrade test .   (README.md there says how to go on)")
