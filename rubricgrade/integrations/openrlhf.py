"""OpenRLHF: a reward function in a file, and the same over HTTP.

# reward.py, for --reward.remote_url reward.py
from rubricgrade.integrations.openrlhf import reward_function
reward_func = reward_function("rubric.yaml", ungraded=0.0)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from rubricgrade.integrations.blocking import wait_for
from rubricgrade.integrations.conversation import from_sides
from rubricgrade.integrations.hosts import host
from rubricgrade.integrations.rewarding import Build, Rewarder, fallback
from rubricgrade.integrations.rubrics import RubricSource


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
        body = {"query": queries, "prompts": prompts, "labels": labels}
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
        InputError: `ungraded` is no finite number.
        ValueError: The lists differ in length.
    """
    instead = fallback(ungraded)
    queries, prompts = body["query"], body["prompts"]
    rows = [_row(label) for label in body.get("labels") or [None] * len(queries)]
    builds = [_build(query, prompt) for query, prompt in zip(queries, prompts, strict=True)]
    found = await rewarder.many(builds, rows)
    rewards = [each.or_else(instead) for each in found]
    facts = [each.facts() for each in found]
    logs = {name: [fact[name] for fact in facts] for name in (facts[0] if facts else {})}
    return {"rewards": rewards, "scores": list(rewards), "extra_logs": logs}


def _row(label: Any) -> Mapping[str, Any]:
    if isinstance(label, str):
        try:
            row = json.loads(label)
        except ValueError:
            return {"label": label}
        if isinstance(row, dict):
            return cast("Mapping[str, Any]", row)
    return {"label": label}


def _build(query: str, prompt: str) -> Build:
    return lambda: from_sides(prompt, query.removeprefix(prompt))
