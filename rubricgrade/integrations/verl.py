"""verl: a reward function for its reward loop, which awaits it once per sample.

reward.custom_reward_function.path=pkg://rubricgrade.integrations.verl
reward.custom_reward_function.name=compute_score
+reward.custom_reward_function.reward_kwargs.rubric=rubric.yaml
+reward.custom_reward_function.reward_kwargs.ungraded=0.0
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from rubricgrade import digest
from rubricgrade.integrations.rewarding import Rewarder
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.rewards.conversation import from_messages, from_sides, plain
from rubricgrade.rewards.rewarded import fallback
from rubricgrade.trajectory import Trajectory

OF_VERL = frozenset({"reward_router_address", "reward_model_tokenizer"})
MESSAGES = ("trajectory", "messages")
"""Where an agent loop puts the whole conversation (`AgentLoopOutput.extra_fields`); else there is only the text."""


_REWARDERS: dict[str, Rewarder] = {}


async def compute_score(
    data_source: Any,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    rubric: str,
    ungraded: float,
    **options: Any,
) -> dict[str, float]:
    """Grade one sample.

    Args:
        data_source: Given to the rubric as the var of this name, if it has one.
        solution_str: The decoded response; used when `extra_info` has no ``trajectory`` or ``messages``.
        ground_truth: Given to the rubric as the var of this name, if it has one.
        extra_info: The row; ``prompt`` is shown as the task, and values named like the rubric's vars are given to it.
        rubric: Its path.
        ungraded: The score of a sample that could not be graded; verl has no value for "none". ``graded`` is then 0.
        **options: Further arguments of `Rewarder`; `judge` may be a map of `JudgeOptions`.

    Returns:
        The same keys for every sample, as verl needs: ``score``, ``graded``, ``gated``, ``lowest``, ``highest``.

    Raises:
        InputError: The rubric or an option can't be used; nothing that comes out of a sample raises.
    """
    score = fallback(ungraded)
    rewarder = _rewarder(rubric, {name: value for name, value in options.items() if name not in OF_VERL})
    row = {**(extra_info or {}), "data_source": data_source, "ground_truth": ground_truth}
    rewarded = await rewarder.one(lambda: _trajectory(solution_str, row), row)
    return {"score": rewarded.or_else(score), **rewarded.facts()}


def _rewarder(rubric: str, options: Mapping[str, Any]) -> Rewarder:
    """One for each configuration, in this process: verl calls a plain function, which keeps nothing."""
    key = digest.of_value(plain({"rubric": rubric, "options": options}))
    if key not in _REWARDERS:
        judge = options.get("judge")
        if isinstance(judge, Mapping):  # from a configuration file
            options = {**options, "judge": JudgeOptions(**cast("Mapping[str, Any]", judge))}
        _REWARDERS[key] = Rewarder(rubric, **options)
    return _REWARDERS[key]


def _trajectory(solution: str, row: Mapping[str, Any]) -> Trajectory:
    name = next((name for name in MESSAGES if row.get(name) is not None), None)
    if name is None:
        return from_sides(row.get("prompt") or [], [{"role": "assistant", "content": solution}])
    found = row[name]
    return found if isinstance(found, Trajectory) else from_messages(list(found))
