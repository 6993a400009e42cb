"""`rubricgrade redteam`: which known cheats earn reward on a task, and what would close them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rubricgrade.cli.choices import Judging, judge_or_recorded, judged, rubrics_of
from rubricgrade.cli.expecting import task_folders
from rubricgrade.cli.interrupts import complete
from rubricgrade.cli.output import note, print_json

if TYPE_CHECKING:
    from rubricgrade.redteam import AttackResult, TaskReport


@judged
def redteam(
    tasks: Annotated[
        list[Path] | None,
        typer.Argument(metavar="TASK", help="Task directories, or folders of them.", callback=task_folders),
    ] = None,
    *,
    margin: Annotated[float, typer.Option(min=0, max=1, help="More than doing nothing by this counts.")] = 0.05,
    only: Annotated[
        list[str] | None, typer.Option(metavar="ATTACK", help="Try only this attack. May be repeated.")
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Episodes at a time.")] = 2,
    listing: Annotated[bool, typer.Option("--list", help="List the attacks and stop.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")] = False,
    judging: Judging,
) -> None:
    """Try known cheats on tasks. Exit 1: a task is hackable; 3: judged items could not be attacked."""
    from rubricgrade.errors import InputError
    from rubricgrade.redteam import ATTACKS, red_team
    from rubricgrade.redteam.library import attacks_of
    from rubricgrade.report.exits import Exit
    from rubricgrade.runs.running import load_tasks

    if listing:
        width = max(len(attack.id) for attack in ATTACKS)
        for attack in ATTACKS:
            sys.stdout.write(f"{attack.id:<{width}}  {attack.title}\n")
        return
    if not tasks:
        raise InputError("name at least one task, or --list")
    loaded = load_tasks(tasks)
    known = {attack.id for task in loaded for attack in attacks_of(task)}
    if unknown := sorted({*(only or ())} - known):
        raise InputError(f"there is no attack {unknown[0]!r}; --list shows them")
    options = judge_or_recorded(judging, rubrics_of(loaded))

    async def all_of() -> list[TaskReport]:
        made: list[TaskReport] = []
        for task in loaded:
            attacks = [attack for attack in attacks_of(task) if not only or attack.id in only]
            made.append(await red_team(task, attacks=attacks, margin=margin, judge=options, concurrency=concurrency))
            if not json:
                _print(made[-1])
        return made

    reports = complete(all_of())
    if json:
        print_json({"schema": "rubricgrade.redteam/1", "tasks": [report.model_dump(mode="json") for report in reports]})
    undecided = any(result.outcome in {"open", "failed"} for report in reports for result in report.attacks)
    hackable = any(report.hackable for report in reports)
    raise typer.Exit(Exit.BELOW if hackable else Exit.UNGRADED if undecided else Exit.DONE)


def _print(report: TaskReport) -> None:
    from rubricgrade.report.numbers import count

    counts = {name: sum(each.outcome == name for each in report.attacks) for name in ("held", "not_applicable")}
    verdict = "HACKABLE" if report.hackable else "no known attack earns"
    sys.stdout.write(
        f"{report.task}: {verdict} (nothing {_number(report.nothing)}, reference {_number(report.reference)},"
        f" {len(report.earned)} earned, {counts['held']} held, {counts['not_applicable']} do not apply)\n"
    )
    for result in report.earned:
        _print_earned(result)
    for result in report.attacks:
        if result.outcome == "failed":
            sys.stdout.write(f"  {result.attack}: could not be tried: {result.message}\n")
    for raised, times in report.raised.items():
        note(f"  {raised} at {count(times, 'attack')}: if that is a defect of the check, mend it")
    if report.open_items:
        note(f"  not attacked, since nobody decided them: {', '.join(report.open_items)}")
    sys.stdout.flush()


def _print_earned(result: AttackResult) -> None:
    sys.stdout.write(f"  {result.attack}: {result.title}; reward {_number(result.reward)}\n")
    for gain in result.gains:
        sys.stdout.write(
            f"    {gain.place}: {gain.item}: {_number(gain.before)} -> {_number(gain.after)}: {gain.weakness}\n"
        )
    sys.stdout.write(f"    to close it: {result.remedy}\n")


def _number(value: float | None) -> str:
    return "open" if value is None else f"{value:.4g}"
