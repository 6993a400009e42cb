"""`check_task`: what must hold for a task before anybody trains on it, each found out by trying."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from rubricgrade import digest
from rubricgrade.episode.agents.proving import Nop, Oracle
from rubricgrade.episode.environment import graded_in, prepared
from rubricgrade.episode.playing import Episode, run_episode
from rubricgrade.episode.stage import Agent
from rubricgrade.episode.task import Task
from rubricgrade.grading import agrade
from rubricgrade.grading.judges import Judges
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.plural import count
from rubricgrade.result import Grade
from rubricgrade.rubric.rules import checks_of
from rubricgrade.runs.raising import raised_in
from rubricgrade.runs.standing import CLOSE
from rubricgrade.sandbox import Provider, Template, default_provider

SMALLEST = 8
"""Bytes from which on a sealed file is looked for: shorter ones are found everywhere."""

SHOWN = 200
"""Characters of what the reference printed."""

# Everywhere but in the host's own programs, which every sandbox shows.
PROBE = """
import hashlib, os, sys
wanted = {tuple(item.split(":")) for item in sys.argv[1:]}
sizes = {int(size) for size, _ in wanted}
system = {"/proc", "/sys", "/dev", "/usr", "/etc", "/opt", sys.base_prefix}
for folder, folders, files in os.walk("/"):
    folders[:] = [name for name in folders if os.path.join(folder, name) not in system]
    for name in files:
        path = os.path.join(folder, name)
        try:
            if os.path.islink(path) or os.path.getsize(path) not in sizes:
                continue
            data = open(path, "rb").read()
        except OSError:
            continue
        if (str(len(data)), hashlib.sha256(data).hexdigest()) in wanted:
            print(path)
"""


Proof = Literal["solved", "unearned", "repeated", "regraded", "sealed"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that must hold.

    Attributes:
        proof: Which of them, by its name.
        what: In a few words.
        holds: Whether it does; None when it could not be found out.
        message: What was seen.
        grades: What was looked at.
    """

    proof: Proof
    what: str
    holds: bool | None
    message: str
    grades: tuple[Grade, ...] = ()


async def check_task(
    task: Task, *, judge: JudgeOptions | None = None, provider: Provider | None = None, repeats: int = 2
) -> AsyncGenerator[Finding]:
    """Prove a task: its reference solves it, doing nothing does not, twice the same, and nothing sealed is in reach.

    Args:
        task: The task.
        judge: How judged criteria are decided; without one they stay open, and so may the first finding.
        provider: Where sandboxes come from.
        repeats: How often the reference is played, at least once.

    Raises:
        InputError: The task's environment can't be made, it has no solution, or a model that judges can't be asked.
        SandboxError: There are no sandboxes.
    """
    provider = provider or default_provider()
    async with AsyncExitStack() as held:
        judges = await held.enter_async_context(Judges(judge or JudgeOptions()))
        judges.check([task.rubric])
        template = await held.enter_async_context(prepared(task, provider))
        place = Path(held.enter_context(TemporaryDirectory()))

        async def play(agent: Agent, name: str) -> Episode:
            (place / name).mkdir()
            return await run_episode(
                task, agent, folder=place / name, judge=judges, provider=provider, template=template
            )

        first = await play(Oracle(), "first")
        yield _solves(task, first)
        nothing = await play(Nop(), "nothing")
        yield _does_not_solve(task, nothing.grade)
        others = [await play(Oracle(), f"again-{number}") for number in range(2, repeats + 1)]
        times = "twice" if len(others) == 1 else f"{1 + len(others)} times"
        yield _same(
            "repeated", f"the reference is graded the same {times}", first.grade, *(other.grade for other in others)
        )
        grading = await held.enter_async_context(graded_in(task, template, provider))
        again = await agrade(first.trajectory, task.rubric, judge=judges, provider=provider, template=grading)
        yield _same("regraded", "grading again changes nothing", first.grade, again)
        yield await _sealed(task, template, provider)


def _solves(task: Task, episode: Episode) -> Finding:
    grade = episode.grade
    holds = None if grade.score is None else _passes(task, grade)
    why = "" if holds else f"; {_why(grade)}{_last_said(episode)}"
    message = f"score {_score(grade)}, ended: {episode.end}{why}{_raised(grade)}"
    return Finding("solved", "the reference solves it", holds, message, (grade,))


def _last_said(episode: Episode) -> str:
    """The end of what the last command of a reference that fails printed: likely why it does."""
    said = [step.text.strip() for step in episode.trajectory.steps if step.role == "tool"]
    return f"; it ended with: {said[-1][-SHOWN:]}" if said and said[-1] else ""


def _does_not_solve(task: Task, grade: Grade) -> Finding:
    # What is open could still become the highest score that is possible.
    below = grade.bounds[1] < task.settings.pass_mark - CLOSE or grade.status == "gated"
    holds = True if below else None if grade.score is None else False
    return Finding("unearned", "doing nothing does not", holds, f"score {_score(grade)}{_raised(grade)}", (grade,))


def _same(proof: Proof, what: str, *grades: Grade) -> Finding:
    """By verdicts and score: what an agent leaves may hold times, so that no two workspaces are the same bytes."""
    differing = differing_items(*grades)
    same = not differing and len({grade.score for grade in grades}) == 1
    return Finding(proof, what, same, ", ".join(differing) or f"score {_score(grades[0])}", grades)


def differing_items(*grades: Grade) -> list[str]:
    """Ids of the gates and criteria that some grades by one rubric don't decide alike, in the rubric's order."""
    rows = [[(item.id, item.verdict, item.value) for item in (*each.gates, *each.leaves())] for each in grades]
    return [items[0][0] for items in zip(*rows, strict=True) if len({*items}) > 1]


async def _sealed(task: Task, template: Template, provider: Provider) -> Finding:
    what = "nothing sealed can be read by the agent"
    shown = {path for _, check in checks_of(task.rubric) for path in check.shown}
    sealed = {path: data for path, data in task.rubric.sealed.items() if path not in shown}
    files = {path: data for path, data in sealed.items() if len(data) >= SMALLEST}
    wanted = [f"{len(data)}:{digest.of_bytes(data).removeprefix('sha256:')}" for data in files.values()]
    sandbox = await provider.open(template, label=f"probe {task.id}")
    try:
        done = await sandbox.exec(["python3", "-I", "-c", PROBE, *wanted], cwd="/", timeout=300)
    finally:
        await sandbox.close()
    if not done.ok:
        return Finding(
            "sealed", what, None, f"the probe failed: {done.stderr.decode('utf-8', 'replace').strip()[-300:]}"
        )
    found = done.stdout.decode("utf-8", "replace").split("\n")[:-1]
    return Finding("sealed", what, not found, ", ".join(found) if found else f"looked for {count(len(files), 'file')}")


def _passes(task: Task, grade: Grade) -> bool:
    return grade.status == "graded" and grade.score is not None and grade.score >= task.settings.pass_mark - CLOSE


def _raised(grade: Grade) -> str:
    """Whether a check itself failed: no episode is plainer than these two, so that is likely a defect of the check."""
    raised = ", ".join(raised_in(grade))
    return f"; a check itself failed, mend it: {raised}" if raised else ""


def _score(grade: Grade) -> str:
    if grade.score is None:
        return f"open ({grade.cause}), {grade.bounds[0]:g} to {grade.bounds[1]:g}"
    return f"{grade.score:g}"


def _why(grade: Grade) -> str:
    wrong = [item for item in (*grade.gates, *grade.leaves()) if item.value is None or item.value < 1]
    return "; ".join(f"{item.id}: {item.message or item.verdict}" for item in wrong[:5])
