"""A rubric for a plain Harbor task: one criterion that earns what ``tests/test.sh`` writes as its reward."""

from __future__ import annotations

import json
import shutil
import tempfile
from importlib.resources import files
from pathlib import Path

from rubricgrade.loading import load_rubric
from rubricgrade.rubric import Rubric

CHECK = "checks/reward.py:reward"
SECONDS = 600


def script_rubric(tests: Path, name: str) -> Rubric:
    """The rubric of a task that has a test script and none of its own.

    The script needs the agent's files around it, so it runs beside the agent's code, as it does in Harbor: such a
    reward is only as safe as the script. A rubric of checks is safer.

    Args:
        tests: The task's ``tests/``; all of it is sealed.
        name: The task's.
    """
    item = {
        "id": "reward",
        "description": "what tests/test.sh rewards (it runs beside the agent's code)",
        "points": 1,
        "check": {"python": CHECK, "timeout": SECONDS},
    }
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        shutil.copytree(tests, folder / "sealed")
        check = files("rubricgrade.episode.inside").joinpath("reward.py").read_text("utf-8")
        (folder / "checks").mkdir()
        (folder / "checks" / "reward.py").write_text(check)
        (folder / "rubric.yaml").write_text(json.dumps({"id": name, "criteria": [item]}))
        return load_rubric(folder)
