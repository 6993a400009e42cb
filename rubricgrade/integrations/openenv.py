"""OpenEnv: a `Rubric` that gathers an episode's steps and grades it when an observation says that it is done.

    env.rubric = episode_rubric("rubric.yaml", ungraded=0.0)

One instance belongs to one environment: OpenEnv keeps an episode's steps and scores on it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from rubricgrade.integrations.hosts import host
from rubricgrade.integrations.rewarding import Rewarder
from rubricgrade.readers.shapes import as_object
from rubricgrade.rewards.blocking import wait_for
from rubricgrade.rewards.conversation import from_messages, plain
from rubricgrade.rewards.rewarded import Rewarded, fallback
from rubricgrade.rewards.rubrics import RubricSource

Turn = Callable[[Any, Any], list[dict[str, Any]]]


def call_and_result(action: Any, observation: Any) -> list[dict[str, Any]]:
    """A step as messages: the action as a tool call named like its class, the observation as its result."""
    call: dict[str, Any] = {
        "function": {"name": type(action).__name__, "arguments": as_object(plain(action)) or {"value": plain(action)}}
    }
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": json.dumps(plain(observation), ensure_ascii=False)},
    ]


def episode_rubric(
    rubric: RubricSource,
    *,
    ungraded: float,
    task: str = "",
    row: Mapping[str, Any] | None = None,
    turn: Turn = call_and_result,
    **options: Any,
) -> Any:
    """An OpenEnv rubric: 0.0 on the way, the grade's score at the end.

    Its ``rewarded`` is the last outcome; every gate and criterion is a child with its value as ``last_score``.

    Args:
        rubric: As in `Rewarder`.
        ungraded: The reward of an episode that could not be graded; OpenEnv has no value for "none".
        task: What the agent was asked, for the judge.
        row: What is known of the task.
        turn: Makes messages of an action and an observation.
        **options: Further arguments of `Rewarder`.

    Raises:
        InputError: The rubric or an option can't be used.
        MissingExtraError: OpenEnv is not installed.
    """
    rubrics = host("openenv.core.rubrics", "openenv")
    rewarder = Rewarder(rubric, **options)
    instead = fallback(ungraded)
    begin = [{"role": "user", "content": task}] if task else []

    class Item(rubrics.Rubric):
        def forward(self, action: Any, observation: Any) -> float:  # noqa: ARG002 - OpenEnv's signature
            return self.last_score

    class EpisodeRubric(rubrics.TrajectoryRubric):
        rewarded: Rewarded | None = None

        def score_trajectory(self, trajectory: list[tuple[Any, Any]]) -> float:
            steps = [message for action, observation in trajectory for message in turn(action, observation)]
            self.rewarded = wait_for(lambda: rewarder.one(lambda: from_messages([*begin, *steps]), row))
            children: dict[str, Any] = {}
            if (grade := self.rewarded.grade) is not None:
                for item in [*grade.gates, *grade.leaves()]:
                    children[item.id] = Item()
                    children[item.id].last_score = item.value
            self.items = rubrics.RubricDict(children)
            return self.rewarded.or_else(instead)

        def compute_step_rewards(self) -> list[float]:
            steps = len(self._trajectory)
            return [0.0] * (steps - 1) + [self.rewarded.or_else(instead)] if steps and self.rewarded else [0.0] * steps

    return EpisodeRubric()
