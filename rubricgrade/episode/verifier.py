"""A rubric for a plain Harbor task: one criterion that earns what its test scripts write as their reward."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from rubricgrade.episode.copying import copied, is_junk
from rubricgrade.episode.harbor import Verifier
from rubricgrade.loading import load_rubric
from rubricgrade.rubric import Rubric

CHECK = "checks/reward.py:reward"
INSIDE = "rubricgrade.episode.inside"


def script_rubric(
    folder: Path,
    verifier: Verifier,
    steps: Sequence[str] = (),
    *,
    artifacts: Sequence[str] = (),
    final: bool = False,
) -> Rubric:
    """The rubric of a task that has test scripts and none of its own.

    A script needs the agent's files around it, so it runs beside the agent's code, as it does in Harbor: such a reward
    is only as safe as the script. A rubric of checks is safer.

    Args:
        folder: The task's; its ``tests/`` and those of its steps are sealed.
        verifier: How the scripts are run.
        steps: Names of the task's steps, if it has several; each is verified on what was there after it.
        artifacts: Globs of what is taken of each step's work folder; nothing: all of it.
        final: Whether the last step that was made decides, and not the mean of all that were.
    """
    item = {
        "id": "reward",
        "description": "what tests/test.sh rewards (it runs beside the agent's code)",
        "points": 1,
        "check": {
            "python": CHECK,
            "timeout": verifier.seconds * max(1, len(steps)),
            "with": {"env": verifier.env, "steps": list(steps), "artifacts": list(artifacts), "final": final},
        },
    }
    with tempfile.TemporaryDirectory() as place:
        rubric = Path(place)
        if steps:
            (rubric / "sealed" / "shared").mkdir(parents=True)
            for step in steps:
                _copy(folder, f"steps/{step}/tests", rubric / "sealed" / "steps" / step)
            _copy(folder, "tests", rubric / "sealed" / "shared")
        else:
            _copy(folder, "tests", rubric / "sealed")
        (rubric / "checks").mkdir()
        (rubric / "checks" / "reward.py").write_text(files(INSIDE).joinpath("reward.py").read_text("utf-8"))
        (rubric / "checks" / "installer.sh").write_text(files(INSIDE).joinpath("installer.sh").read_text("utf-8"))
        (rubric / "rubric.yaml").write_text(json.dumps({"id": folder.name, "criteria": [item]}))
        return load_rubric(rubric)


def _copy(task: Path, tests: str, target: Path) -> None:
    """Whole, since no sealed file is a link."""
    if (task / tests).is_dir():
        copied(task / tests, target, within=task, skip=is_junk, whole=True)
