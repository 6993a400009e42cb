"""`rubricgrade calibrate`: which tasks of a run to keep, to drop, to inspect, and why."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from rubricgrade.cli.choices import Judging, Run, judge_or_recorded, judged, rubrics_of
from rubricgrade.cli.interrupts import complete, if_interrupted
from rubricgrade.cli.output import note, print_json
from rubricgrade.cli.regrading import say_doubts


@judged
def calibrate(
    folder: Run,
    *,
    inspect_to: Annotated[float, typer.Option(min=0, max=1, help="Inspect tasks solved at this rate or less.")] = 0.0,
    drop_from: Annotated[float, typer.Option(min=0, max=1, help="Drop tasks solved at this rate or more.")] = 1.0,
    attempts: Annotated[int, typer.Option(min=1, help="Graded attempts that a decision needs.")] = 1,
    no_probe: Annotated[
        bool, typer.Option("--no-probe", help="Look at stored grades only; run no reference, grade nothing again.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print calibration.json and nothing else.")] = False,
    judging: Judging,
) -> None:
    """Keep, drop or inspect each task of a run; writes calibration.json beside it."""
    from rubricgrade.runs.calibration import FILE, Thresholds, calibrate
    from rubricgrade.runs.manifest import read_manifest
    from rubricgrade.runs.places import place_of
    from rubricgrade.runs.regrading import tasks_of

    place = place_of(folder)
    manifest = read_manifest(place)
    tasks = {} if no_probe else tasks_of(manifest)
    say_doubts(place, manifest, tasks)
    options = judge_or_recorded(judging, rubrics_of(tasks.values()))
    thresholds = Thresholds(inspect_to=inspect_to, drop_from=drop_from, attempts=attempts)
    if_interrupted("nothing was written")
    made = complete(calibrate(place, thresholds, probe=not no_probe, judge=options))
    if json:
        print_json(made.model_dump(mode="json"))
        return
    width = max(len(task.task) for task in made.tasks)
    for task in made.tasks:
        rate = "-" if task.rate is None else f"{task.rate:.0%}"
        spread = "" if task.interval is None else f"({task.interval[0]:.0%} to {task.interval[1]:.0%})"
        counts = f"{task.solved}/{task.attempts}"
        reasons = "; ".join(task.reasons)
        sys.stdout.write(f"{task.task:<{width}}  {counts:>7}  {rate:>4} {spread:<15} {task.decision:<7}  {reasons}\n")
    note(f"written to {place}/{FILE}")
