"""A reward function for a trainer: a batch of episodes in, one float or None per episode out.

None means "could not be graded" (no sandbox, no judge, a broken check): leave such an episode out of the update. It is
never 0, which would teach that the attempt was bad. Run ``python examples/reward_function.py`` to see it work.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rubricgrade import Trajectory, grade_all, load_rubric, load_trajectory

ADD = Path(__file__).resolve().parent / "add"
RUBRIC = load_rubric(ADD / "rubric.yaml")


def reward(trajectories: Sequence[Trajectory]) -> list[float | None]:
    """The score of each trajectory, 0 to 1; None where the grader, not the agent, failed."""
    return [grade.score for grade in grade_all(trajectories, RUBRIC)]


if __name__ == "__main__":
    print(reward([load_trajectory(ADD / "episodes" / name) for name in ("plus", "minus")]))
