"""tinker-cookbook: a `RewardFn`, awaited once with the messages of a finished episode.

reward_fn = reward_function("rubric.yaml", ungraded=0.0)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from rubricgrade.integrations.rewarding import Rewarder
from rubricgrade.rewards.conversation import from_messages
from rubricgrade.rewards.rewarded import fallback
from rubricgrade.rewards.rubrics import RubricSource


def reward_function(
    rubric: RubricSource, *, ungraded: float, row: Mapping[str, Any] | None = None, **options: Any
) -> Callable[[list[Any]], Awaitable[tuple[float, dict[str, float]]]]:
    """A reward function that can be pickled, as builders of environments must be.

    Args:
        rubric: As in `Rewarder`.
        ungraded: The reward of an episode that could not be graded; the metric ``graded`` is then 0.
        row: What is known of the task: tinker gives a reward function nothing but the messages.
        **options: Further arguments of `Rewarder`.

    Raises:
        InputError: The rubric or an option can't be used.
    """
    return partial(_reward, Rewarder(rubric, **options), fallback(ungraded), dict(row or {}))


async def _reward(
    rewarder: Rewarder, ungraded: float, row: Mapping[str, Any], messages: list[Any]
) -> tuple[float, dict[str, float]]:
    rewarded = await rewarder.one(lambda: from_messages(messages), row)
    return rewarded.or_else(ungraded), rewarded.facts()
