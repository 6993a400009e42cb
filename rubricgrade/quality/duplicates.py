"""Tasks that show an agent exactly the same: whoever trains on both trains on one of them twice."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rubricgrade import digest, tree
from rubricgrade.episode.task import Task
from rubricgrade.quality.records import Doubt

SHOWN = ("environment", "tools")
"""Folders that decide what an agent meets; those of steps besides."""


def duplicates(tasks: Iterable[Task]) -> dict[str, Doubt]:
    """Of tasks that show the same, each but the first by its id: a doubt by the task's id.

    How they are graded does not count: the same work under two rubrics is worse than under one.
    """
    first: dict[str, Task] = {}
    found: dict[str, Doubt] = {}
    for task in sorted(tasks, key=lambda each: each.id):
        other = first.setdefault(shown(task), task)
        if other is task:
            continue
        found[task.id] = Doubt(
            kind="duplicate",
            what=f"shows the agent exactly what {other.id} shows",
            evidence=("one instruction, white space aside; one environment; one set of tools",),
            remedy=f"deliver {other.id} only, or change what one of them asks for",
        )
    return found


def shown(task: Task) -> str:
    """``sha256:...`` of all that an agent meets: instruction, environment, tools; not of how it is graded."""
    folders = [*SHOWN, *(f"steps/{step.name}/workdir" for step in task.steps)]
    return digest.of_value(
        {
            "instruction": " ".join(task.instruction.split()),
            "tools": sorted(task.settings.tools),
            "folders": [_digest(task.folder / name) for name in folders],
        }
    )


def _digest(folder: Path) -> str:
    return tree.digest(folder) if folder.is_dir() else ""
