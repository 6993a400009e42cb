"""TRL: reward functions for `GRPOTrainer`, which takes None for a completion that has no score.

    trainer = GRPOTrainer(..., reward_funcs=reward_function("rubric.yaml", judge="openai/gpt-5-mini"))

Both functions can be pickled. TRL's metrics call them ``rubricgrade``; wrap one in a function to give it another name.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

from rubricgrade.integrations.rewarding import Rewarder
from rubricgrade.rewards.blocking import wait_for
from rubricgrade.rewards.conversation import from_sides
from rubricgrade.rewards.rewarded import Build, Rewarded
from rubricgrade.rewards.rubrics import RubricSource
from rubricgrade.trajectory import Trajectory

NO_COLUMNS = frozenset({"trainer_state", "completion_ids", "environments"})


def reward_function(rubric: RubricSource, **options: Any) -> Callable[..., list[float | None]]:
    """A sync reward function: floats from 0 to 1, None where the grader failed.

    Args:
        rubric: As in `Rewarder`; a row holds the data set's columns.
        **options: Further arguments of `Rewarder`.

    Raises:
        InputError: The rubric or an option can't be used.
    """
    return partial(_rewards_now, Rewarder(rubric, **options))


def async_reward_function(
    rubric: RubricSource, **options: Any
) -> Callable[..., Coroutine[Any, Any, list[float | None]]]:
    """The same as a coroutine function, which TRL runs beside others while judges are waited for."""
    return partial(_rewards, Rewarder(rubric, **options))


def _rewards_now(rewarder: Rewarder, prompts: Sequence[Any], completions: Sequence[Any], **given: Any) -> Any:
    return wait_for(lambda: _rewards(rewarder, prompts, completions, **given))


async def _rewards(
    rewarder: Rewarder,
    prompts: Sequence[Any],
    completions: Sequence[Any],
    *,
    log_extra: Callable[[str, list[Any]], None] | None = None,
    log_metric: Callable[[str, float], None] | None = None,
    **columns: Any,
) -> list[float | None]:
    if len(prompts) != len(completions):
        raise ValueError(f"{len(prompts)} prompts, but {len(completions)} completions: one of each per episode")
    environments = columns.get("environments") or [None] * len(prompts)
    rows = [_row(columns, index, len(prompts)) for index in range(len(prompts))]
    builds = [_build(*each) for each in zip(prompts, completions, rows, environments, strict=True)]
    found = await rewarder.many(builds, rows)
    if log_extra is not None:
        log_extra("rubricgrade", [each.lines() for each in found])
    if log_metric is not None and found:
        for fact, value in _means(found).items():
            log_metric(f"rubricgrade/{fact}", value)
    return [each.reward for each in found]


# TRL names its metrics after these; pickling goes by the qualified name, which stays.
_rewards_now.__name__ = _rewards.__name__ = "rubricgrade"


def _row(columns: Mapping[str, Any], index: int, size: int) -> dict[str, Any]:
    """What the columns say about one completion; a column that is no list of the batch's size is the same for all."""
    return {
        name: column[index] if isinstance(column, list | tuple) and len(column) == size else column  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - a column of anything
        for name, column in columns.items()
        if name not in NO_COLUMNS
    }


def _build(prompt: Any, completion: Any, row: Mapping[str, Any], environment: Any) -> Build:
    def build() -> Trajectory:
        trajectory = from_sides(prompt, completion)
        task = row.get("task_id")
        if isinstance(task, str):
            trajectory = trajectory.model_copy(update={"task_id": task})
        workspace = getattr(environment, "workspace", None)
        return trajectory if workspace is None else trajectory.located(workspace=workspace)

    return build


def _means(found: Sequence[Rewarded]) -> dict[str, float]:
    facts = [each.facts() for each in found]
    return {name: sum(fact[name] for fact in facts) / len(facts) for name in facts[0]}
