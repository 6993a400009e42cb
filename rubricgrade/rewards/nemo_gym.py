"""NeMo Gym's ``/verify``: what it takes as an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubricgrade.rewards.rewarded import Rewarded

KINDS = frozenset({"judge_failed", "judge_unparseable"})
"""Causes that NeMo Gym has the same name for; others are given as our own kind."""


def reply(body: Mapping[str, Any], rewarded: Rewarded) -> dict[str, Any]:
    """All of the request, and the reward.

    Args:
        body: ``responses_create_params``, ``response`` and the columns of the task.
        rewarded: What came of it.

    Returns:
        ``reward`` (0 to 1; 0 when ungraded, and then ``mask_sample`` is true), ``mask_sample``, ``failure_kind``,
        ``failure_reason``, ``reward_components``.
    """
    cause = rewarded.cause
    return {
        **body,
        # The protocol has no null here: what is masked is not trained on, whatever its number.
        "reward": rewarded.or_else(0.0),
        "mask_sample": rewarded.reward is None,
        "failure_kind": cause if cause is None or cause in KINDS else f"rubricgrade:{cause}",
        "failure_reason": rewarded.message or None,
        "reward_components": rewarded.facts(),
    }
