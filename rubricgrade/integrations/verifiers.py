"""verifiers: a reward method for a task of version 1, and reward functions for a `Rubric` of the classic ones.

class MyTask(vf.Task):
    rubricgrade = reward("rubric.yaml", judge="openai/gpt-5-mini")
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from rubricgrade.errors import RubricgradeError
from rubricgrade.integrations.hosts import host
from rubricgrade.integrations.rewarding import Rewarder
from rubricgrade.rewards.conversation import from_sides, from_trace
from rubricgrade.rewards.rewarded import fallback
from rubricgrade.rewards.rubrics import RubricSource


class Ungraded(RubricgradeError, RuntimeError):
    """An episode could not be graded. verifiers 1 records it on the trace, whose reward then stays None."""

    exit_code = 3


def reward(rubric: RubricSource, *, weight: float = 1.0, **options: Any) -> Callable[..., Awaitable[float]]:
    """A reward method of a task; its metrics and the whole grade are put on the trace.

    Args:
        rubric: As in `Rewarder`; a row is the task's data.
        weight: verifiers adds rewards up with their weights and does not divide by them.
        **options: Further arguments of `Rewarder`.

    Raises:
        InputError: The rubric or an option can't be used.
        MissingExtraError: verifiers is not installed.
    """
    vf = host("verifiers.v1", "verifiers")
    rewarder = Rewarder(rubric, **options)

    async def rubricgrade(self: Any, trace: Any) -> float:
        row = self.data.model_dump()
        rewarded = await rewarder.one(lambda: from_trace(trace.model_dump(mode="json")), row)
        trace.record_metrics({f"rubricgrade_{name}": value for name, value in rewarded.facts().items()})
        if rewarded.grade is not None:
            trace.info["rubricgrade"] = rewarded.grade.model_dump(mode="json")
        if rewarded.reward is None:
            # This is how version 1 says "no score": the boundary around rewards catches it, and nothing is summed.
            raise Ungraded(f"{rewarded.cause}: {rewarded.message}")
        return rewarded.reward

    return vf.reward(rubricgrade, weight=weight)


def classic_reward(rubric: RubricSource, *, ungraded: float, **options: Any) -> Callable[..., Awaitable[float]]:
    """A reward function for ``verifiers.Rubric(funcs=[...])`` of releases before 1.

    There an exception counts as 0.0, so what could not be graded is `ungraded`; ``state["rubricgrade"]`` tells.

    Args:
        rubric: As in `Rewarder`; a row is the task's ``info`` with ``answer`` and ``task``.
        ungraded: The reward of an episode that could not be graded.
        **options: Further arguments of `Rewarder`.

    Raises:
        InputError: The rubric or an option can't be used.
    """
    rewarder = Rewarder(rubric, **options)
    instead = fallback(ungraded)

    async def rubricgrade(prompt: Any, completion: Any, answer: Any, state: dict[str, Any], **given: Any) -> float:
        info = given.get("info")
        row = {
            **(cast("Mapping[str, Any]", info) if isinstance(info, Mapping) else {}),
            "answer": answer,
            "task": given.get("task"),
        }
        rewarded = await rewarder.one(lambda: from_sides(prompt, completion), row)
        state["rubricgrade"] = rewarded.facts()
        return rewarded.or_else(instead)

    return rubricgrade
