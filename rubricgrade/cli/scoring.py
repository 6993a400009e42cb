"""`rubricgrade score`: how a run stands by its current grades."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rubricgrade.cli.choices import Run
from rubricgrade.cli.output import note, print_json
from rubricgrade.plural import count

if TYPE_CHECKING:
    from rubricgrade.runs.standing import RunStanding, Standing

NAMED = 10
"""Tasks in one line."""


def score(
    folder: Run,
    *,
    k: Annotated[
        list[int] | None,
        typer.Option("-k", min=1, help="For pass@k and pass^k. May be repeated. Default: 1 and the attempts per task."),
    ] = None,
    min_reward: Annotated[
        float | None, typer.Option(min=0, max=1, help="Exit with 1 if the mean reward is below this.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")] = False,
) -> None:
    """Solved attempts, pass@k, pass^k and mean reward with intervals: per task, per category, overall."""
    from rubricgrade.report.exits import Exit
    from rubricgrade.runs.standing import stand

    standing = stand(folder, k or ())
    if json:
        print_json(standing_as_json(standing))
    else:
        print_standing(standing, folder)
    overall = standing.overall
    if overall.ungraded or overall.reward is None:
        raise typer.Exit(Exit.UNGRADED)
    if min_reward is not None and overall.reward < min_reward - 1e-9:
        raise typer.Exit(Exit.BELOW)


def standing_as_json(standing: RunStanding) -> dict[str, Any]:
    """The document of ``--json``."""
    return {"schema": "rubricgrade.score/1", **standing.model_dump(mode="json")}


def print_standing(standing: RunStanding, run: object) -> None:
    """The table, and a sentence on everything that is in no number, or should perhaps not be in one.

    Args:
        standing: How the run stands.
        run: Its place, for the command that grades it again.
    """
    from rubricgrade.report.visible import one_line
    from rubricgrade.result import RECORDED
    from rubricgrade.runs.raising import told

    categories = [row.model_copy(update={"name": f"category {row.name}"}) for row in standing.categories]
    rows = [*standing.tasks, *categories, standing.overall]
    ks = sorted(standing.overall.pass_at)
    powers = [k for k in ks if k > 1]
    header = ["task", "rollouts", "solved", *(f"pass@{k}" for k in ks), *(f"pass^{k}" for k in powers)]
    table = [[*header, "mean_reward", "95% interval"], *(_row(row, ks, powers) for row in rows)]
    sys.stdout.write("\n".join(aligned(table)) + "\n")
    overall = standing.overall
    if overall.ungraded:
        note(f"ungraded, and in no number: {count(overall.ungraded, 'attempt')}")
    for row in standing.opened:
        note(f"  {row.cause}: {count(row.grades, 'attempt')}, such as {row.name} ({one_line(row.why, 300)})")
    if standing.opened:
        judge = next((row.judge for row in standing.opened if row.judge not in {None, RECORDED}), None)
        named = f" --judge {shlex.quote(judge)}, its other options as before" if judge else ""
        note(f"what is at fault mended, grade again: rubricgrade regrade {run}{named}")
    if standing.without_grade:
        rewards = count(standing.without_grade, "reward")
        note(f"{rewards} without a grade file, ungraded therefore; to grade again: rubricgrade regrade {run}")
    if standing.pass_marks:
        marks = [f"{name} {mark:g}" for name, mark in standing.pass_marks.items()]
        rest = f" and {len(marks) - NAMED} more" if len(marks) > NAMED else ""
        note(f"counted as solved from less than 1: {', '.join(marks[:NAMED])}{rest}")
    for sentence in told(standing.raising, again=f"regrade: rubricgrade regrade {run}"):
        note(sentence)
    if standing.missing:
        note(f"missing: {count(standing.missing, 'attempt')}")
    if overall.short:
        few = f"fewer than {max(ks)} graded attempts" if max(ks) > 1 else "no graded attempt"
        note(f"{few}, so no pass@{max(ks)}: {', '.join(overall.short)}")


def _row(row: Standing, ks: Sequence[int], powers: Sequence[int]) -> list[str]:
    interval = "-" if row.interval is None else f"{_number(row.interval[0])} to {_number(row.interval[1])}"
    rates = [*(row.pass_at[k] for k in ks), *(row.pass_all[k] for k in powers)]
    return [row.name, str(row.rollouts), str(row.solved), *map(_number, rates), _number(row.reward), interval]


def _number(value: float | None) -> str:
    """Two decimals, as in a report; nothing that is not exactly 0 or 1 is shown as such."""
    if value is None:
        return "-"
    if value in (0.0, 1.0):
        return str(int(value))
    return f"{min(max(value, 0.01), 0.99):.2f}"


def aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as lines, with the columns under each other."""
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
