"""Prints what judging would take, for ``--dry-run``."""

from __future__ import annotations

import typer

from rubricgrade.cli.output import print_json
from rubricgrade.grading.planning import Plan
from rubricgrade.report.plan import plan_document, plan_lines


def print_plan(plan: Plan, *, json: bool) -> None:
    """A table, or one JSON document."""
    if json:
        print_json(plan_document(plan))
        return
    for line in plan_lines(plan):
        typer.echo(line)
