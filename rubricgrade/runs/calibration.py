"""Which tasks teach something: solved now and then is kept, always is dropped, never is inspected, and by looking.

"Never solved" is a fact about a model; whether the task is too hard or broken is found out here, as far as it can be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rubricgrade.episode.agents.proving import Oracle
from rubricgrade.episode.playing import run_episode
from rubricgrade.episode.task import Task
from rubricgrade.errors import InputError, RubricgradeError
from rubricgrade.grading.asked import check_judge
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.plural import count
from rubricgrade.result import Grade
from rubricgrade.runs.manifest import read_manifest
from rubricgrade.runs.places import Place, Where, place_of
from rubricgrade.runs.regrading import regrade, tasks_of
from rubricgrade.runs.standing import CLOSE, Attempt, attempts_of
from rubricgrade.runs.statistics import wilson
from rubricgrade.sandbox import Provider

FILE = "calibration.json"
SCHEMA = "rubricgrade.calibration/1"
Decision = Literal["keep", "drop", "inspect"]


class Thresholds(BaseModel):
    """Rates of solved attempts, 0 to 1.

    Attributes:
        inspect_to: At this rate and below, a task is inspected.
        drop_from: At this rate and above, it is dropped.
        attempts: Graded attempts that a decision needs; with fewer, a task is inspected.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    inspect_to: float = 0.0
    drop_from: float = 1.0
    attempts: int = 1


class Calibrated(BaseModel):
    """What is to become of a task.

    Attributes:
        task: Its id.
        category: For reports.
        solved: Attempts that solved it.
        attempts: Attempts with a score.
        rate: Solved of them; None without any.
        interval: Wilson's 95 % interval of the rate.
        decision: Keep, drop or inspect.
        reasons: What was found by looking; for ``inspect`` at least one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str
    category: str = ""
    solved: int
    attempts: int
    rate: float | None
    interval: tuple[float, float] | None
    decision: Decision
    reasons: tuple[str, ...]


class Calibration(BaseModel):
    """``calibration.json``."""

    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)

    schema_: Literal["rubricgrade.calibration/1"] = Field(default=SCHEMA, alias="schema")
    run: str
    agent: str
    thresholds: Thresholds
    tasks: tuple[Calibrated, ...]


async def calibrate(
    where: Where,
    thresholds: Thresholds | None = None,
    *,
    probe: bool = True,
    judge: JudgeOptions | None = None,
    provider: Provider | None = None,
) -> Calibration:
    """Decide about every task of a run, and write ``calibration.json`` beside it.

    Args:
        where: The run's place.
        thresholds: Where the decisions change.
        probe: Also try each doubtful task: run its reference solution, and grade its attempts again.
        judge: For probing; only what is not in the cache is asked.
        provider: Where sandboxes come from.

    Raises:
        InputError: It is no run; or, when probing, a task of it can't be used any more, or a model that judges can't be
            asked.
    """
    thresholds = thresholds or Thresholds()
    place = place_of(where)
    manifest = read_manifest(place)
    attempts = attempts_of(place, manifest)
    tasks = tasks_of(manifest) if probe else {}
    check_judge(judge or JudgeOptions(), [task.rubric for task in tasks.values()])
    made: list[Calibrated] = []
    for name, facts in sorted(manifest.tasks.items()):
        its = [attempt for attempt in attempts if attempt.line.task == name]
        reasons = list(_seen(its))
        rate = _rate(its)
        if probe and its and (rate is None or rate <= thresholds.inspect_to or reasons):
            reasons += await _tried(tasks[name], place, its, judge or JudgeOptions(), provider)
        made.append(_decided(name, facts.category, its, reasons, thresholds))
    result = Calibration(run=manifest.run, agent=manifest.agent, thresholds=thresholds, tasks=tuple(made))
    place.write(FILE, (result.model_dump_json(indent=1) + "\n").encode())
    return result


def _decided(
    name: str, category: str, attempts: Sequence[Attempt], reasons: list[str], thresholds: Thresholds
) -> Calibrated:
    graded = [attempt for attempt in attempts if attempt.reward is not None]
    solved, rate = sum(attempt.solved for attempt in graded), _rate(attempts)
    decision: Decision = "keep"
    if rate is None or len(graded) < thresholds.attempts:
        decision = "inspect"
        reasons.append(f"{count(len(graded), 'attempt')} with a score, which decides nothing")
    elif rate <= thresholds.inspect_to:
        decision = "inspect"
        reasons.append("never solved" if rate == 0 else "hardly ever solved")
    elif any(reason.startswith(BROKEN) for reason in reasons):
        decision = "inspect"
    elif rate >= thresholds.drop_from:
        decision = "drop"
        reasons.append("already solved: nothing to learn")
    else:
        reasons.append("sometimes right: a learning signal")
    return Calibrated(
        task=name,
        category=category,
        solved=solved,
        attempts=len(graded),
        rate=rate,
        interval=wilson(solved, len(graded)),
        decision=decision,
        reasons=tuple(reasons),
    )


BROKEN = "broken: "
"""Begins a reason that speaks against the task itself, whatever its rate is."""


def _rate(attempts: Sequence[Attempt]) -> float | None:
    graded = [attempt for attempt in attempts if attempt.reward is not None]
    return sum(attempt.solved for attempt in graded) / len(graded) if graded else None


def _seen(attempts: Sequence[Attempt]) -> list[str]:
    """What the stored grades say."""
    reasons: list[str] = []
    grades = [attempt.grade for attempt in attempts if attempt.grade is not None]
    if ungraded := [grade for grade in grades if grade.status == "ungraded"]:
        causes = ", ".join(sorted({str(grade.cause) for grade in ungraded}))
        reasons.append(f"{BROKEN}{len(ungraded)} of {count(len(attempts), 'attempt')} could not be graded ({causes})")
    failures = Counter(gate.id for grade in grades for gate in grade.gates if gate.verdict == "not_met")
    if common := sorted(gate for gate, times in failures.items() if times == len(attempts) > 1):
        reasons.append(f"every attempt failed the same gate: {', '.join(common)}")
    if split := sorted({item for grade in grades for item in split_votes(grade)}):
        reasons.append(f"votes of the judge split on {', '.join(split)}")
    return reasons


def split_votes(grade: Grade) -> dict[str, Counter[str]]:
    """How often each answer was given, of the judged criteria (and items of a `for_each`) on which votes split.

    A vote that failed is none.
    """
    votes = {
        item.id: Counter(vote.answer for vote in item.judge.votes if vote.answer != "error")
        for leaf in grade.leaves()
        for item in leaf.parts or (leaf,)
        if item.judge is not None
    }
    return {name: answers for name, answers in votes.items() if len(answers) > 1}


async def _tried(
    task: Task, place: Place, attempts: Sequence[Attempt], judge: JudgeOptions, provider: Provider | None
) -> list[str]:
    """What trying says: does the reference still pass, and does grading again give the same."""
    reasons: list[str] = []
    try:
        proof = await run_episode(task, Oracle(), judge=judge, provider=provider)
    except InputError as error:
        reasons.append(f"the reference solution can't be run: {error}")
    except RubricgradeError as error:
        reasons.append(f"{BROKEN}the reference solution could not be tried: {error}")
    else:
        score = proof.grade.score
        if score is None:
            reasons.append(f"the reference solution could not be graded ({proof.grade.cause})")
        elif score < task.settings.pass_mark - CLOSE:
            reasons.append(f"{BROKEN}the reference solution scores {score:g}")
        else:
            reasons.append("the reference solution passes")
    known = {attempt.line.sample: attempt for attempt in attempts}
    flaky = [
        f"{BROKEN}attempt {again.attempt.line.sample} was graded {again.attempt.reward} and is now {again.grade.score}"
        async for again in regrade(place, only=frozenset({task.id}), judge=judge, store=False, provider=provider)
        if again.attempt.line.sample in known and again.changed
    ]
    return [*reasons, *flaky]
