"""Where a gate or a criterion stands in its task's rubric, as an author finds it."""

from __future__ import annotations

from pathlib import Path

from rubricgrade.episode.task import Task
from rubricgrade.loading.document import read_document
from rubricgrade.rubric.rules import placed


def places_of(task: Task) -> dict[str, str]:
    """``file:line`` of every gate and criterion, the file from the task's folder on; for a test script, the script."""
    file = task.folder / "tests" / "rubric.yaml"
    named = {gate.id: ("gates", index) for index, gate in enumerate(task.rubric.gates)}
    named |= {one.criterion.id: tuple(one.place) for one in placed(task.rubric)}
    if not file.is_file():
        return dict.fromkeys(named, str(_shown(task, task.folder / "tests/test.sh")))
    document = read_document(file.read_bytes(), str(_shown(task, file)))
    return {
        name: f"{fault.file}:{fault.line}"
        for name, place in named.items()
        for fault in [document.fault(place, "", "RG000")]
    }


def _shown(task: Task, file: Path) -> Path:
    return Path(task.folder.name) / file.relative_to(task.folder)
