"""What a caller may give by mistake: a message that says what to give instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rubricgrade import Trajectory, grade, grade_all, load_rubric, load_trajectories, load_trajectory
from rubricgrade.client import RewardClient
from rubricgrade.errors import InputError, TrajectoryError
from rubricgrade.rewards.conversation import from_messages
from tests.grading.episodes import episode, rubric

MESSAGES: Any = [{"role": "user", "content": "Add."}, {"role": "assistant", "content": "4"}]
GATE = {"id": "four", "description": "says 4", "check": {"trajectory": {"final_message": {"contains": "4"}}}}
WHOLE = {"gates": [GATE]}


def test_messages_are_no_path(tmp_path: Path) -> None:
    ready = load_rubric(rubric(tmp_path / "r", WHOLE))
    for call in (load_trajectory, load_trajectories, lambda given: grade(given, ready)):
        with pytest.raises(TrajectoryError, match=r"not list; rubricgrade.from_messages\(messages"):
            call(MESSAGES)
    assert grade(from_messages(MESSAGES), ready).score == 1


@pytest.mark.parametrize("form", [str, Path, load_trajectory, lambda _: 5, lambda path: {"a": path}])
def test_one_trajectory_is_no_list(tmp_path: Path, form: Any) -> None:
    given = form(episode(tmp_path / "e", {}))
    ready = load_rubric(rubric(tmp_path / "r", WHOLE))
    for call in (grade_all, RewardClient("http://127.0.0.1:1").grade_all):
        with pytest.raises(
            InputError, match=r"must be a list of trajectories or of paths, not .*; pass \[it\] for one"
        ):
            call(given, ready)


def test_several_are_taken_in_any_order_that_can_be_gone_through(tmp_path: Path) -> None:
    ready = load_rubric(rubric(tmp_path / "r", WHOLE))
    several: tuple[Trajectory, ...] = (from_messages(MESSAGES), from_messages(MESSAGES[:1]))
    assert [made.score for made in grade_all(several, ready)] == [1, 0]


@pytest.mark.parametrize("given", [5, {"id": "r"}, None])
def test_a_rubric_is_a_rubric_or_a_path(given: Any) -> None:
    with pytest.raises(InputError, match="rubric must be a Rubric or a path"):
        grade(from_messages(MESSAGES), given)
