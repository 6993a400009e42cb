"""`rubricgrade export`: a run as one file that other programs read."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rubricgrade.cli.choices import Run
from rubricgrade.cli.output import note
from rubricgrade.plural import count


class Form(StrEnum):
    """What the file is."""

    PARQUET = "parquet"
    JSONL = "jsonl"


def export(
    run: Run,
    *,
    to: Annotated[
        Form, typer.Option(help="parquet (extra 'parquet'), or jsonl: the lines of a run that lives at a URL.")
    ] = Form.PARQUET,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Default: the run's name with the format's.")
    ] = None,
) -> None:
    """Write one row per attempt, with the fields of its line; what could not be graded has no reward."""
    from rubricgrade.errors import Fault, InputError
    from rubricgrade.readers.native import replace_file
    from rubricgrade.runs.lines import jsonl_of
    from rubricgrade.runs.manifest import read_manifest
    from rubricgrade.runs.parquet import parquet_of
    from rubricgrade.runs.places import place_of

    place = place_of(run)
    read_manifest(place)
    lines = place.lines()
    file = output or Path(f"{place.name}.{to}")
    data = parquet_of(lines) if to is Form.PARQUET else jsonl_of(lines)
    try:
        replace_file(file, data)
    except OSError as error:
        raise InputError(Fault(f"can't be written: {error.strerror or error}", str(file))) from error
    note(f"{count(len(lines), 'attempt')} written to {file}")
