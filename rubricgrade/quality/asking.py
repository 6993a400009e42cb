"""`task_quality`: everything that is asked of one task, each part by what the package has for it already."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

from rubricgrade.episode.task import Task
from rubricgrade.errors import InputError, JudgeError, SandboxError, StoreError, TemplateError
from rubricgrade.grading.asked import check_judge
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.quality.leaks import found_by_searching, given_away
from rubricgrade.quality.opinions import against_the_reference, divided_reviewers, divided_votes, lost
from rubricgrade.quality.records import Doubt, Found, Kind, QualityReport, Undecided, merged
from rubricgrade.quality.repeats import REGRADED, REPLAYED, differences
from rubricgrade.redteam.placing import places_of
from rubricgrade.runs.places import Where
from rubricgrade.runs.proving import Finding, check_task
from rubricgrade.runs.regrading import regrade
from rubricgrade.runs.standing import Attempt, attempts_of
from rubricgrade.sandbox import Provider, default_provider

REPEATS = 3


async def task_quality(
    task: Task,
    *,
    judge: JudgeOptions | None = None,
    provider: Provider | None = None,
    repeats: int = REPEATS,
    run: Where | None = None,
) -> QualityReport:
    """Find out what speaks against training on a task.

    What could not be found out, for lack of a judge or of a sandbox, is told apart, and is never a doubt.

    Args:
        task: The task.
        judge: Decides judged criteria; without one they stay open.
        provider: Where sandboxes come from.
        repeats: How often the reference is played, at least once.
        run: Whose stored attempts at the task are graded again, and whose votes and reviews are read. Only attempts
            that were graded by the task's rubric as it is now are looked at.

    Raises:
        InputError: It is no run, or a model that judges can't be asked.
        StoreError: The run can't be read.
    """
    judge, provider = judge or JudgeOptions(), provider or default_provider()
    check_judge(judge, [task.rubric])
    stored = [one for one in attempts_of(run) if one.line.task == task.id] if run is not None else []
    attempts = [one for one in stored if one.grade is not None and one.grade.rubric.hash == task.rubric.hash]
    parts: list[tuple[Kind, AsyncIterator[Found]]] = [
        ("unsolved", _proved(task, judge, provider, repeats)),
        ("leaking", found_by_searching(task, judge, provider)),
        ("leaking", given_away(task, provider)),
    ]
    if run is not None and attempts:
        parts.append(("flaky", _stored(task, run, attempts, judge, provider)))
    found: list[Found] = []
    if stored and not attempts:
        found.append(
            Undecided(kind="flaky", why="the run was graded by another rubric: `rubricgrade regrade` it first")
        )
    for kind, part in parts:
        try:
            found += [each async for each in part]
        except (InputError, JudgeError, SandboxError, StoreError) as error:
            found.append(Undecided(kind=kind, why=str(error)))
    return QualityReport(
        task=task.id,
        hash=task.hash,
        repeats=repeats,
        attempts=len(attempts),
        doubts=merged(each for each in found if isinstance(each, Doubt)),
        undecided=tuple(dict.fromkeys(each for each in found if isinstance(each, Undecided))),
    )


async def _proved(task: Task, judge: JudgeOptions, provider: Provider, repeats: int) -> AsyncIterator[Found]:
    places = places_of(task)
    try:
        async for finding in check_task(task, judge=judge, provider=provider, repeats=repeats):
            for each in _made_of(finding, task, places):
                yield each
    except TemplateError:
        raise  # of this host as likely as of the task
    except InputError as error:
        yield Doubt(
            kind="unsolved",
            what="the reference solution can't be played",
            evidence=(str(error),),
            remedy="give solution/ a solve.sh, solution.patch or play.yaml that solves it",
        )


def _made_of(finding: Finding, task: Task, places: Mapping[str, str]) -> Iterator[Found]:
    """What a proof says about a task's quality."""
    match finding.proof:
        case "solved":
            wrong = lost(task, finding.grades[0])
            place = next((places[name] for name in wrong if name in places), "")
            what, remedy = "the reference does not solve it", "mend the solution, or what it fails"
            yield from _unless_it_holds(finding, "unsolved", what, remedy, place)
            yield from against_the_reference(task, finding.grades[0], places)
        case "unearned":
            what, remedy = "doing nothing solves it", "let a gate or a criterion fail on the untouched files"
            yield from _unless_it_holds(finding, "broken", what, remedy)
        case "repeated":
            names = [f"reference {number}" for number in range(1, len(finding.grades) + 1)]
            yield from divided_votes(zip(names, finding.grades, strict=True), places)
            what = "the same solution is played again"
            yield from differences(names, finding.grades, places, what=what, remedy=REPLAYED)
        case "regraded":
            names = ["reference 1", "the same trajectory again"]
            what = "the same trajectory is graded again"
            yield from differences(names, finding.grades, places, what=what, remedy=REGRADED)
        case "sealed":
            what, remedy = "sealed files lie where the agent can read them", "take them out of environment/"
            yield from _unless_it_holds(finding, "leaking", what, remedy)


def _unless_it_holds(finding: Finding, kind: Kind, what: str, remedy: str, place: str = "") -> Iterator[Found]:
    if finding.holds is None:
        yield Undecided(kind=kind, why=f"{finding.what}: {finding.message}")
    elif not finding.holds:
        yield Doubt(kind=kind, what=what, evidence=(finding.message,), place=place, remedy=remedy)


async def _stored(
    task: Task, run: Where, attempts: Sequence[Attempt], judge: JudgeOptions, provider: Provider
) -> AsyncIterator[Found]:
    """What a run's attempts say, and whether grading them again gives the same."""
    places = places_of(task)
    by_home = {one.line.home: one.grade for one in attempts if one.grade is not None}
    for doubt in (*divided_votes(by_home.items(), places), *divided_reviewers(task, attempts, places)):
        yield doubt
    async for again in regrade(run, only=frozenset({task.id}), judge=judge, store=False, provider=provider):
        home = again.attempt.line.home
        if home in by_home and again.grade.rubric.hash == task.rubric.hash:
            names, grades = (home, f"{home} again"), (by_home[home], again.grade)
            what = "a stored attempt is graded again"
            for each in differences(names, grades, places, what=what, remedy=REGRADED):
                yield each
