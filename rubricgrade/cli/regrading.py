"""`rubricgrade regrade`: grade a run again from what its episodes left."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rubricgrade.cli.choices import DryRun, ExecutedBy, Json, Judging, Run, judge_or_recorded, judged, rubrics_of
from rubricgrade.cli.expecting import takes
from rubricgrade.cli.interrupts import complete, if_interrupted
from rubricgrade.cli.kinds import RUBRIC
from rubricgrade.cli.output import note, print_json
from rubricgrade.cli.recording import say_unused

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from rubricgrade.episode.task import Task
    from rubricgrade.rubric import Rubric
    from rubricgrade.runs.manifest import Manifest
    from rubricgrade.runs.places import Place
    from rubricgrade.runs.regrading import Regraded
    from rubricgrade.runs.standing import Attempt

SCHEMA = "rubricgrade.regrade/1"
NAMED = 5
"""Tasks in one line."""


@judged
def regrade(
    folder: Run,
    *,
    rubric: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", callback=takes(RUBRIC), help="Another rubric. Default: each task's own, as it is now."
        ),
    ] = None,
    task: Annotated[list[str] | None, typer.Option(metavar="ID", help="Only these tasks. May be repeated.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Attempts at a time.")] = 4,
    executor: ExecutedBy = "local",
    judging: Judging,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Grade a run again from what was left: no agent is run, and only what has changed is judged.

    The new grades are the current ones of their episodes; the others stay. `rubricgrade diff RUN` compares the two.
    """
    from rubricgrade.loading import load_rubric
    from rubricgrade.loading.rubric import rubric_file
    from rubricgrade.runs.executing import choose_executor
    from rubricgrade.runs.manifest import read_manifest
    from rubricgrade.runs.places import place_of
    from rubricgrade.runs.regrading import plan_again, regrade, tasks_of
    from rubricgrade.runs.standing import attempts_of

    place, only = place_of(folder), frozenset(task or ())
    manifest = read_manifest(place)
    tasks = tasks_of(manifest, only)
    another = None if rubric is None else load_rubric(rubric)
    say_doubts(place, manifest, tasks, by_another=another is not None)
    options = judge_or_recorded(
        judging, [*([] if rubric is None else [rubric_file(rubric)]), *rubrics_of(tasks.values())]
    )
    attempts = [one for one in attempts_of(place, manifest) if one.line.task in tasks]
    if another is not None:
        _say_foreign(another, attempts, str(place))
    if dry_run:
        from rubricgrade.cli.planning import print_plan

        print_plan(complete(plan_again(place, rubric=another, only=only, judge=options)), json=json)
        return
    if not (judging.judge or judging.offline or judging.verdicts):
        _check_nobody_is_missed(attempts, {task: another or one.rubric for task, one in tasks.items()})
    if_interrupted("new grades so far are kept; the same command grades all again, with judges' answers from the cache")
    again = regrade(
        place, rubric=another, only=only, judge=options, concurrency=concurrency, executor=choose_executor(executor)
    )
    done = complete(_told(again, quiet=json))
    graded = [(another or tasks[one.attempt.line.task].rubric, one.grade) for one in done]
    unused = say_unused(options.verdicts, graded)
    raise typer.Exit(_report(folder, done, unused, by_another=another is not None, json=json))


def say_doubts(place: Place, manifest: Manifest, tasks: Mapping[str, Task], *, by_another: bool = False) -> None:
    """Say before anything is spent which tasks are others than the run was made with, and where they lie."""
    from rubricgrade.runs.origins import doubts

    found = list(doubts(place, manifest, tasks, by_another=by_another))
    for doubt in found[:NAMED]:
        note(f"warning: {doubt}")
    if len(found) > NAMED:
        note(f"warning: and {len(found) - NAMED} more such tasks")


def _say_foreign(rubric: Rubric, attempts: Iterable[Attempt], run: str) -> None:
    """Say it before anything is spent when a rubric has never graded what it is to grade now."""
    last = {one.line.task: one.grade.rubric.id for one in attempts if one.grade is not None}
    others = {task: other for task, other in sorted(last.items()) if other != rubric.id}
    if others:
        named = ", ".join(f"{task} by {other!r}" for task, other in list(others.items())[:NAMED])
        rest = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
        note(
            f"warning: rubric {rubric.id!r} is another one than these tasks have been graded by: {named}{rest}. Its "
            "grades will be their current ones; the others stay. For some tasks only: --task ID; back again: "
            f"rubricgrade regrade {run}"
        )


def _check_nobody_is_missed(attempts: Iterable[Attempt], rubrics: Mapping[str, Rubric]) -> None:
    """What a model has decided is not to be left open because nobody thought of naming it again.

    Raises:
        InputError: Such a model has graded some attempts whose rubric still asks a judge.
    """
    from rubricgrade.errors import InputError
    from rubricgrade.result import RECORDED

    asking = {task for task, rubric in rubrics.items() if any(leaf.judge is not None for leaf in rubric.leaves())}
    judges = {one.grade.judge.id for one in attempts if one.line.task in asking and one.grade and one.grade.judge}
    models = sorted(judges - {RECORDED})
    if models:
        raise InputError(
            f"these attempts were judged by {', '.join(models)}, and nobody is named to judge them now; name a judge, "
            f"with its address if it has one of its own (--judge {models[0]} --judge-api-base URL), or say --offline "
            "for recorded verdicts and the cache alone"
        )


async def _told(regraded: AsyncGenerator[Regraded], *, quiet: bool) -> list[Regraded]:
    """All of them; those whose score is another one are printed as they are done."""
    done: list[Regraded] = []
    async for one in regraded:
        done.append(one)
        if one.changed and not quiet:
            line = one.attempt.line
            before, now = _number(one.attempt.reward), _number(one.grade.score)
            sys.stdout.write(f"{line.task} #{line.sample}: {before} is now {now}\n")
    return done


def _report(
    folder: str, done: Sequence[Regraded], unused: list[dict[str, Any]], *, by_another: bool, json: bool
) -> int:
    from rubricgrade.cli.scoring import print_standing
    from rubricgrade.report.exits import Exit
    from rubricgrade.report.numbers import count
    from rubricgrade.runs.standing import stand

    standing = stand(folder)
    changed = [one for one in done if one.changed]
    if json:
        scores = [
            {
                "task": one.attempt.line.task,
                "sample": one.attempt.line.sample,
                "before": one.attempt.reward,
                "after": one.grade.score,
            }
            for one in changed
        ]
        facts = {"graded": len(done), "changed": scores, "unused_verdicts": unused}
        print_json({"schema": SCHEMA, **facts, "standing": standing.model_dump(mode="json")})
    else:
        print_standing(standing, folder)
        note(f"{count(len(changed), 'score')} changed")
        if by_another and changed:
            note(f"by the tasks' own rubrics again: rubricgrade regrade {folder}")
    return Exit.UNGRADED if standing.overall.ungraded else Exit.DONE


def _number(value: float | None) -> str:
    from rubricgrade.report.numbers import number

    return "ungraded" if value is None else number(value)
