"""Where a run's tasks are taken from, and whether they are those that it was made with.

``run.json`` is not signed: whoever sent a run may have written its paths and its hashes too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from rubricgrade.episode.task import Task
from rubricgrade.runs.manifest import Manifest, TaskFacts
from rubricgrade.runs.places import Place
from rubricgrade.runs.places.local import LocalPlace


def doubts(place: Place, manifest: Manifest, tasks: Mapping[str, Task], *, by_another: bool = False) -> Iterator[str]:
    """A sentence on each task that is not, or may not be, what the run was made with, and where it lies.

    Args:
        place: The run's.
        manifest: The run's.
        tasks: As they were loaded now, by id.
        by_another: Whether they are graded by a rubric of the caller's, so that theirs may be any.
    """
    for name, task in sorted(tasks.items()):
        if found := list(_of_one(place, manifest.tasks[name], task, by_another=by_another)):
            yield f"task {name} in {task.folder}: {'; '.join(found)}"


def _of_one(place: Place, facts: TaskFacts, task: Task, *, by_another: bool) -> Iterator[str]:
    if isinstance(place, LocalPlace) and task.folder.is_relative_to(place.folder.resolve()):
        yield "it lies in the run's own folder, where whoever sent the run has put it"
    elif not Path(facts.path).is_absolute():
        yield f"the run names it by the relative path {facts.path!r}, which no run of ours does"
    if not by_another and task.rubric.hash != facts.rubric:
        yield "its rubric is another one than the run was made with"
    elif not by_another and task.hash != facts.hash:
        yield "it is another one than the run was made with, though its rubric is the same"
    if task.settings.pass_mark != facts.pass_mark:
        yield f"the run counts it as solved from {facts.pass_mark:g}, the task itself from {task.settings.pass_mark:g}"
