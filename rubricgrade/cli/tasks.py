"""`rubricgrade task`: prove tasks, take them in from other shapes, hand them on to Harbor."""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rubricgrade.cli.choices import Cache, Json, Judge, JudgeBase, JudgeRpm, Offline, Verdicts, judging
from rubricgrade.cli.interrupts import complete
from rubricgrade.cli.output import note, print_json

if TYPE_CHECKING:
    from rubricgrade.quality import QualityReport

app = typer.Typer(help="Tasks: prove them, take them in, hand them on.", no_args_is_help=True, rich_markup_mode=None)


@app.command()
def check(
    tasks: Annotated[list[Path], typer.Argument(metavar="TASK", help="Task directories.")],
    *,
    judge: Judge = None,
    judge_api_base: JudgeBase = None,
    judge_rpm: JudgeRpm = None,
    offline: Offline = False,
    verdicts: Verdicts = None,
    cache: Cache = None,
) -> None:
    """Prove tasks: the reference solves it, doing nothing does not, twice the same, nothing sealed is in reach."""
    from rubricgrade.episode.site import site_of
    from rubricgrade.report.exits import Exit
    from rubricgrade.report.visible import one_line
    from rubricgrade.runs.proving import Finding, check_task
    from rubricgrade.runs.running import load_tasks

    loaded = load_tasks(tasks)
    options = judging(
        judge, judge_api_base, offline=offline, verdicts=verdicts, cache=cache, tasks=loaded, rpm=judge_rpm
    )

    async def prove() -> list[Finding]:
        found: list[Finding] = []
        for task in loaded:
            sys.stdout.write(f"{task.id}\n")
            for remark in site_of(task).recipe.notes:
                sys.stdout.write(f"  note   {one_line(remark, 300)}\n")
            async for finding in check_task(task, judge=options):
                word = {True: "ok", False: "FAILS", None: "open"}[finding.holds]
                sys.stdout.write(f"  {word:<5}  {finding.what}: {one_line(finding.message, 300)}\n")
                sys.stdout.flush()
                found.append(finding)
        return found

    held = {finding.holds for finding in complete(prove())}
    raise typer.Exit(Exit.BELOW if False in held else Exit.UNGRADED if None in held else Exit.DONE)


@app.command()
def quality(
    tasks: Annotated[list[Path], typer.Argument(metavar="TASK", help="Task directories.")],
    *,
    runs: Annotated[
        str | None, typer.Option(metavar="RUN", help="Grade its attempts again; read its votes and reviews.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="How often the reference is played.")] = 3,
    json: Json = False,
    judge: Judge = None,
    judge_api_base: JudgeBase = None,
    judge_rpm: JudgeRpm = None,
    offline: Offline = False,
    verdicts: Verdicts = None,
    cache: Cache = None,
) -> None:
    """Find what is flaky, ambiguous, unsolved, leaking or a duplicate. Exit 1: some; 3: not all could be found out."""
    from rubricgrade.quality import duplicates, task_quality
    from rubricgrade.report.exits import Exit
    from rubricgrade.runs.running import load_tasks

    loaded = load_tasks(tasks)
    options = judging(
        judge, judge_api_base, offline=offline, verdicts=verdicts, cache=cache, tasks=loaded, rpm=judge_rpm
    )
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
        Path, typer.Argument(metavar="SOURCE", help="A vendor's folder, or SWE-bench rows (JSON, JSONL).")
    ],
    target: Annotated[Path, typer.Argument(metavar="DIR", help="The task directory; for rows, the folder for them.")],
    *,
    repository: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A clone to take a row's files from, at its base commit.")
    ] = None,
) -> None:
    """Make task directories from a vendor's folder (task.yaml, grade.sh, ...) or from rows of SWE-bench."""
    from rubricgrade.episode.dialects import import_swe_bench, import_vendor
    from rubricgrade.runs.running import load_tasks

    if source.is_dir():
        made = [import_vendor(source, target)]
    else:
        made = [
            import_swe_bench(row, target / str(row.get("instance_id", "row")), repository=repository)
            for row in _rows(source)
        ]
    load_tasks([one.folder for one in made])
    for one in made:
        typer.echo(one.folder)
        for remark in one.notes:
            note(f"  {remark}")


@app.command()
def export(
    source: Annotated[Path, typer.Argument(metavar="TASK", help="A task directory.")],
    target: Annotated[Path, typer.Argument(metavar="DIR", help="The Harbor task directory to write.")],
) -> None:
    """Write a task for Harbor, with a test script that grades by the rubric."""
    from rubricgrade.episode.exporting import export_task
    from rubricgrade.episode.task import Task

    for remark in export_task(Task.load(source), target):
        note(remark)
    typer.echo(target)


@app.command()
def verify(
    *,
    tests: Annotated[Path, typer.Option(metavar="DIR", help="The task's tests/.")] = Path("/tests"),
    workspace: Annotated[Path, typer.Option(metavar="DIR", help="What the agent left.")] = Path(),
    logs: Annotated[Path, typer.Option(metavar="DIR", help="Harbor's log folder.")] = Path("/logs"),
    judge: Judge = None,
    judge_api_base: JudgeBase = None,
    judge_rpm: JudgeRpm = None,
    offline: Offline = False,
    verdicts: Verdicts = None,
    cache: Cache = None,
) -> None:
    """Grade inside a Harbor container; what an exported task's test.sh calls. Writes no reward without a score."""
    from rubricgrade.episode.exporting import verify
    from rubricgrade.report.exits import Exit

    beside = tests / "verdicts.jsonl"
    files = [*(verdicts or ()), *([beside] if judge is None and beside.is_file() else [])]
    options = judging(judge, judge_api_base, offline=offline, verdicts=files, cache=cache, rpm=judge_rpm)
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


def _rows(file: Path) -> list[dict[str, object]]:
    from rubricgrade.errors import Fault, InputError

    try:
        text = file.read_text("utf-8")
        rows = json_module.loads(text) if text.lstrip().startswith("[") else None
        rows = rows or [json_module.loads(line) for line in text.splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise InputError(Fault(f"holds no rows of JSON: {error}", str(file))) from None
    if wrong := [number for number, row in enumerate(rows, 1) if not isinstance(row, dict)]:
        raise InputError([Fault(f"row {number} is no object", str(file)) for number in wrong])
    return rows
