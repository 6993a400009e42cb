"""A task for Harbor: the directory as it is, with a test script that grades by the rubric and writes Harbor's files."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath

from rubricgrade.episode.beginning import begun
from rubricgrade.episode.copying import JUNK, copied
from rubricgrade.episode.site import site_of
from rubricgrade.episode.task import Task
from rubricgrade.grading import agrade
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.loading import load_rubric
from rubricgrade.readers import load_trajectories
from rubricgrade.readers.native import replace_file
from rubricgrade.result import Grade
from rubricgrade.sandbox import base_template
from rubricgrade.trajectory import Step, Text, Trajectory
from rubricgrade.version import __version__

SCRIPT = """#!/bin/bash
# Grades by tests/rubric.yaml. Writes reward.json and reward-details.json; no reward at all when the grader failed.
command -v rubricgrade > /dev/null || python3 -m pip install --quiet "rubricgrade>={version}"
exec rubricgrade task verify --tests /tests --workspace {workdir} --logs /logs
"""


def export_task(task: Task, target: Path, *, whole: bool = False) -> tuple[str, ...]:
    """Write a task as a Harbor task directory.

    Args:
        task: The task.
        target: The directory to make.
        whole: Copy what a link leads to in its place.

    Returns:
        What Harbor has no place for.

    Raises:
        InputError: The target is there already, or a link leads out of the task.
    """
    with begun(target):
        copied(task.folder, target, skip=_left_out, whole=whole)
        if not task.by_script:
            workdir = site_of(task).recipe.workdir
            # One that is there may be a link to another file of the task.
            (target / "tests" / "test.sh").unlink(missing_ok=True)
            (target / "tests" / "test.sh").write_text(SCRIPT.format(version=__version__, workdir=workdir))
            (target / "tests" / "test.sh").chmod(0o755)
    notes: list[str] = []
    if task.settings.outside is not None:
        notes.append("Harbor has no tools outside of its container: the task's own tools were left out")
    solution = target / "solution"
    if (solution / "play.yaml").is_file() and not (solution / "solve.sh").is_file():
        notes.append("the reference solution is a play, which Harbor's oracle can't follow")
    return tuple(notes)


def _left_out(path: PurePosixPath) -> bool:
    return path.name in {JUNK, "plays", "tools", "runs"}


async def verify(tests: Path, workspace: Path, logs: Path, *, judge: JudgeOptions | None = None) -> Grade:
    """Grade inside a Harbor container and write what Harbor reads.

    ``<logs>/verifier/reward.json`` gets the one key ``reward``, since Harbor averages only rewards with a single one.
    Nothing is written when there is no score: any number there would be taken for one.

    Args:
        tests: The task's ``tests/``.
        workspace: What the agent left.
        logs: Harbor's folder; the agent's trajectory is taken from ``agent/trajectory.json`` if it is there.
        judge: As in `agrade`.

    Raises:
        InputError: The rubric or the trajectory can't be used.
    """
    overrides = tests / "vars.yaml"
    rubric = load_rubric(tests / "rubric.yaml", vars=overrides if overrides.is_file() else None)
    template = base_template(workdir=str(workspace))
    grade = await agrade(
        _trajectory(logs / "agent").located(workspace=workspace), rubric, judge=judge, template=template
    )
    place = logs / "verifier"
    place.mkdir(parents=True, exist_ok=True)
    for stale in ("reward.json", "reward.txt"):
        (place / stale).unlink(missing_ok=True)
    replace_file(place / "reward-details.json", grade.to_json().encode())
    if grade.score is not None:
        replace_file(place / "reward.json", json.dumps({"reward": grade.score}).encode())
    return grade


def _trajectory(agent: Path) -> Trajectory:
    file = agent / "trajectory.json"
    if file.is_file():
        return load_trajectories(file, strict=False)[-1]
    text = "What the agent said was not recorded; it is graded by the files that it left."
    return Trajectory(id="harbor", steps=(Step(role="user", content=(Text(text=text),)),))
