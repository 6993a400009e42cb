"""Harbor: what a verifier leaves for it, as files and an exit code. Also a program for a task's ``tests/test.sh``.

    python -m rubricgrade.integrations.harbor_files /tests/rubric.yaml --workspace "$PWD" --to /logs/verifier

``reward.json`` has the one key ``reward``, since Harbor averages only rewards with a single one. What could not be
graded leaves no reward file, which Harbor takes for a failed verification and not for a 0.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rubricgrade.errors import InputError
from rubricgrade.grading import grade
from rubricgrade.loading import load_rubric
from rubricgrade.readers import load_trajectory
from rubricgrade.readers.native import replace_file
from rubricgrade.result import Grade
from rubricgrade.rewards.conversation import from_messages
from rubricgrade.rubric import Rubric
from rubricgrade.trajectory import Trajectory

REWARD = "reward.json"
STALE = (REWARD, "reward.txt")
DETAILS = "reward-details.json"


def write_reward(grade: Grade, folder: Path) -> bool:
    """Write ``reward-details.json``, and ``reward.json`` if there is a score. Rewards that lay there are removed.

    Returns:
        Whether there is a score.

    Raises:
        OSError: A file can't be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in STALE:
        (folder / name).unlink(missing_ok=True)
    # The agent may have been at work here: a link that it has left is replaced, and not written through.
    replace_file(folder / DETAILS, grade.to_json().encode())
    if grade.score is None:
        return False
    replace_file(folder / REWARD, (json.dumps({"reward": grade.score}) + "\n").encode())
    return True


def task_rubric(tests: Path) -> Rubric:
    """The rubric of a task's ``tests/``, with the values in ``vars.yaml`` if there are any.

    Raises:
        RubricError: It can't be used.
    """
    given = tests / "vars.yaml"
    return load_rubric(tests / "rubric.yaml", vars=given if given.is_file() else None)


def harbor_trajectory(file: Path, instruction: str) -> Trajectory:
    """What Harbor's agent has logged; an agent that logs nothing, such as the oracle, has only been told its task.

    Raises:
        TrajectoryError: The file can't be used.
    """
    if file.is_file():
        return load_trajectory(file)
    return from_messages([{"role": "user", "content": instruction or "(not recorded)"}])


def main(arguments: Sequence[str] | None = None) -> int:
    """Grade what lies here, as a verifier's script.

    Returns:
        0 with a reward, 3 without one, 2 for input that can't be used.
    """
    parser = argparse.ArgumentParser(prog="rubricgrade.integrations.harbor_files", description=__doc__)
    parser.add_argument("rubric", type=Path)
    parser.add_argument("--trajectory", type=Path, default=Path("/logs/agent/trajectory.json"))
    parser.add_argument("--workspace", type=Path, default=Path())
    parser.add_argument("--to", type=Path, default=Path("/logs/verifier"))
    parser.add_argument("--judge")
    given = parser.parse_args(arguments)
    for name in STALE:
        (given.to / name).unlink(missing_ok=True)
    try:
        rubric = task_rubric(given.rubric.parent) if given.rubric.name == "rubric.yaml" else load_rubric(given.rubric)
        trajectory = harbor_trajectory(given.trajectory, "").located(workspace=given.workspace)
        graded = grade(trajectory, rubric, judge=given.judge)
    except InputError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    return 0 if write_reward(graded, given.to) else 3


if __name__ == "__main__":
    sys.exit(main())
