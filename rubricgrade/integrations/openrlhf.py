"""OpenRLHF: a reward function in a file, and the same over HTTP.

# reward.py, for --reward.remote_url reward.py
from rubricgrade.integrations.openrlhf import reward_function
reward_func = reward_function("rubric.yaml", ungraded=0.0)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rubricgrade.integrations.hosts import host
from rubricgrade.integrations.rewarding import Rewarder
from rubricgrade.rewards import openrlhf
from rubricgrade.rewards.blocking import wait_for
from rubricgrade.rewards.rewarded import fallback
from rubricgrade.rewards.rubrics import RubricSource


def reward_function(rubric: RubricSource, *, ungraded: float, **options: Any) -> Callable[..., dict[str, Any]]:
    """A ``reward_func(queries, prompts, labels)`` as OpenRLHF wants it: a map of tensors.

    Args:
        rubric: As in `Rewarder`; a row is the label, which may be a JSON object, else it is ``{"label": ...}``.
        ungraded: The reward of a sample that could not be graded; ``extra_logs`` tells how many were.
        **options: Further arguments of `Rewarder`.

    Raises:
        InputError: The rubric or an option can't be used.
        ModuleNotFoundError: PyTorch is not installed.
    """
    rewarder = Rewarder(rubric, **options)
    fallback(ungraded)
    torch = host("torch")

    def reward_func(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any]) -> dict[str, Any]:
        body = {"query": list(queries), "prompts": list(prompts), "labels": list(labels or ())}
        found = wait_for(lambda: answer(rewarder, body, ungraded=ungraded))
        logs = {name: torch.tensor(values) for name, values in found["extra_logs"].items()}
        return {"rewards": torch.tensor(found["rewards"]), "scores": torch.tensor(found["scores"]), "extra_logs": logs}

    return reward_func


async def answer(rewarder: Rewarder, body: Mapping[str, Any], *, ungraded: float) -> dict[str, Any]:
    """What a reward server answers to OpenRLHF's request.

    Args:
        rewarder: Grades.
        body: ``query`` (prompt and response as one text each), ``prompts`` and ``labels``, lists of one length.
        ungraded: The reward of a sample that could not be graded.

    Returns:
        ``rewards``, ``scores`` and ``extra_logs``, each with a number per sample.

    Raises:
        InputError: `ungraded` is no finite number, or the request has not this shape.
    """
    instead = fallback(ungraded)
    builds, rows = openrlhf.samples(body)
    return openrlhf.reply(await rewarder.many(builds, rows), ungraded=instead)
