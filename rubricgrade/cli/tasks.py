"""`rubricgrade task`: prove tasks, take them in from other shapes, hand them on to Harbor."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rubricgrade.cli.choices import Json, Judging, judge_or_recorded, judged, rubrics_of
from rubricgrade.cli.expecting import takes, task_folders
from rubricgrade.cli.interrupts import complete
from rubricgrade.cli.kinds import ROWS, RUN, TASK, VENDOR
from rubricgrade.cli.output import note, print_json

if TYPE_CHECKING:
    from rubricgrade.episode.task import Task
    from rubricgrade.quality import QualityReport

app = typer.Typer(help="Tasks: prove them, take them in, hand them on.", no_args_is_help=True, rich_markup_mode=None)


@app.command()
@judged
def check(
    tasks: Annotated[
        list[Path], typer.Argument(metavar="TASK", help="Task directories, or folders of them.", callback=task_folders)
    ],
    *,
    json: Json = False,
    judging: Judging,
) -> None:
    """Prove tasks by playing them.

    The reference solves it, doing nothing does not, twice the same, and nothing sealed is in reach.
    """
    from rubricgrade.episode.site import site_of
    from rubricgrade.report.exits import Exit
    from rubricgrade.report.visible import one_line
    from rubricgrade.runs.proving import Finding, check_task
    from rubricgrade.runs.running import load_tasks

    loaded = load_tasks(tasks)
    options = judge_or_recorded(judging, rubrics_of(loaded))

    def say(line: str) -> None:
        if not json:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()

    async def prove(task: Task) -> list[Finding]:
        found: list[Finding] = []
        say(task.id)
        for remark in site_of(task).recipe.notes:
            say(f"  note   {one_line(remark, 300)}")
        async for finding in check_task(task, judge=options):
            word = {True: "ok", False: "FAILS", None: "open"}[finding.holds]
            say(f"  {word:<5}  {finding.what}: {one_line(finding.message, 300)}")
            found.append(finding)
        return found

    async def prove_all() -> list[tuple[Task, list[Finding]]]:
        return [(task, await prove(task)) for task in loaded]

    proved = complete(prove_all())
    if json:
        rows = [
            {
                "task": task.id,
                "notes": [*site_of(task).recipe.notes],
                "findings": [
                    {"proof": one.proof, "what": one.what, "holds": one.holds, "message": one.message}
                    for one in findings
                ],
            }
            for task, findings in proved
        ]
        print_json({"schema": "rubricgrade.check/1", "tasks": rows})
    held = {finding.holds for _, findings in proved for finding in findings}
    raise typer.Exit(Exit.BELOW if False in held else Exit.UNGRADED if None in held else Exit.DONE)


@app.command()
@judged
def quality(
    tasks: Annotated[
        list[Path], typer.Argument(metavar="TASK", help="Task directories, or folders of them.", callback=task_folders)
    ],
    *,
    runs: Annotated[
        str | None,
        typer.Option(metavar="RUN", callback=takes(RUN), help="Grade its attempts again; read its votes and reviews."),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="How often the reference is played.")] = 3,
    json: Json = False,
    judging: Judging,
) -> None:
    """Find what is flaky, ambiguous, unsolved, leaking or a duplicate. Exit 1: some; 3: not all could be found out."""
    from rubricgrade.quality import duplicates, task_quality
    from rubricgrade.report.exits import Exit
    from rubricgrade.runs.running import load_tasks

    loaded = load_tasks(tasks)
    options = judge_or_recorded(judging, rubrics_of(loaded))
    twice = duplicates(loaded)

    async def all_of() -> list[QualityReport]:
        made: list[QualityReport] = []
        for task in loaded:
            report = await task_quality(task, judge=options, repeats=repeats, run=runs)
            made.append(report.also(twice[task.id]) if task.id in twice else report)
            if not json:
                _print_quality(made[-1], runs)
        return made

    reports = complete(all_of())
    if json:
        print_json({"schema": "rubricgrade.quality/1", "tasks": [report.model_dump(mode="json") for report in reports]})
    doubted, undecided = any(each.doubts for each in reports), any(each.undecided for each in reports)
    raise typer.Exit(Exit.BELOW if doubted else Exit.UNGRADED if undecided else Exit.DONE)


@app.command(name="import")
def import_(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE", help="A vendor's folder, or SWE-bench rows (JSON, JSONL).", callback=takes(VENDOR, ROWS)
        ),
    ],
    target: Annotated[Path, typer.Argument(metavar="DIR", help="The task directory; for rows, the folder for them.")],
    *,
    repository: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A clone to take a row's files from, at its base commit.")
    ] = None,
) -> None:
    """Make task directories from a vendor's folder or SWE-bench rows.

    A vendor's folder has a task.yaml, a grade.sh and tests/. Tests become a sealed suite where they can; notes say how.
    Rows that can't be made into tasks are named with their lines, and the others are imported.
    """
    from rubricgrade.episode.dialects import import_rows, import_vendor
    from rubricgrade.errors import InputError
    from rubricgrade.runs.running import load_tasks

    made, faults = ([import_vendor(source, target)], []) if source.is_dir() else import_rows(source, target, repository)
    load_tasks([one.folder for one in made])
    for one in made:
        typer.echo(one.folder)
        for remark in one.notes:
            note(f"  {remark}")
    if faults:
        raise InputError(faults)


@app.command()
def export(
    source: Annotated[Path, typer.Argument(metavar="TASK", help="A task directory.", callback=takes(TASK))],
    target: Annotated[Path, typer.Argument(metavar="DIR", help="The Harbor task directory to write.")],
) -> None:
    """Write a task for Harbor; its test.sh grades by the rubric."""
    from rubricgrade.episode.exporting import export_task
    from rubricgrade.episode.task import Task

    for remark in export_task(Task.load(source), target):
        note(remark)
    typer.echo(target)


@app.command()
@judged
def verify(
    *,
    tests: Annotated[Path, typer.Option(metavar="DIR", help="The task's tests/.")] = Path("/tests"),
    workspace: Annotated[Path, typer.Option(metavar="DIR", help="What the agent left.")] = Path(),
    logs: Annotated[Path, typer.Option(metavar="DIR", help="Harbor's log folder.")] = Path("/logs"),
    judging: Judging,
) -> None:
    """Grade inside a Harbor container, as an exported test.sh does. Writes no reward without a score."""
    from rubricgrade.episode.exporting import verify
    from rubricgrade.report.exits import Exit

    options = judge_or_recorded(judging, [tests / "rubric.yaml"])
    grade = complete(verify(tests, workspace.resolve(), logs, judge=options))
    typer.echo(f"{grade.status}: {grade.score if grade.score is not None else grade.cause}")
    raise typer.Exit(Exit.DONE if grade.score is not None else Exit.UNGRADED)


def _print_quality(report: QualityReport, run: str | None) -> None:
    from rubricgrade.report.visible import one_line

    verdict = ", ".join(report.kinds) or ("not all could be found out" if report.undecided else "nothing found")
    times = "once" if report.repeats == 1 else f"{report.repeats} times"
    stored = f", {report.attempts} stored attempts" if run is not None else ""
    sys.stdout.write(f"{report.task}: {verdict} (reference played {times}{stored})\n")
    for doubt in report.doubts:
        place = f"{doubt.place}: " if doubt.place else ""
        sys.stdout.write(f"  {doubt.kind}: {place}{one_line(doubt.what, 300)}\n")
        for line in doubt.evidence:
            sys.stdout.write(f"    {one_line(line, 300)}\n")
        sys.stdout.write(f"    to mend it: {doubt.remedy}\n")
    for each in report.undecided:
        sys.stdout.write(f"  not found out whether it is {each.kind}: {one_line(each.why, 300)}\n")
    sys.stdout.flush()
