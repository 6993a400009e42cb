"""OpenRLHF's remote reward: what its request holds, and what it takes as an answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from rubricgrade.errors import InputError
from rubricgrade.readers.shapes import as_list
from rubricgrade.rewards.conversation import from_sides
from rubricgrade.rewards.rewarded import Rewarded
from rubricgrade.trajectory import Trajectory


def samples(body: Mapping[str, Any]) -> tuple[list[Callable[[], Trajectory]], list[Mapping[str, Any]]]:
    """The episodes of a request and their rows.

    Args:
        body: ``query`` (prompt and response as one text each), ``prompts`` and ``labels`` (may be missing), lists of
            one length. A label may be a JSON object, else its row is ``{"label": ...}``.

    Raises:
        InputError: It has not this shape.
    """
    queries, prompts = as_list(body.get("query")), as_list(body.get("prompts"))
    if queries is None or prompts is None or not all(isinstance(text, str) for text in [*queries, *prompts]):
        raise InputError("'query' and 'prompts' must be lists of texts")
    labels = as_list(body.get("labels")) or [None] * len(queries)
    if not len(queries) == len(prompts) == len(labels):
        lengths = f"{len(queries)}, {len(prompts)} and {len(labels)}"
        raise InputError(f"'query', 'prompts' and 'labels' must have the same length, not {lengths}")
    builds = [_build(query, prompt) for query, prompt in zip(queries, prompts, strict=True)]
    return builds, [_row(label) for label in labels]


def reply(found: Sequence[Rewarded], *, ungraded: float) -> dict[str, Any]:
    """The answer: ``rewards``, ``scores`` and ``extra_logs``, each with a number per sample.

    Args:
        found: What came of the samples, in their order.
        ungraded: The reward of a sample that could not be graded; ``extra_logs`` tells them apart.
    """
    rewards = [each.or_else(ungraded) for each in found]
    facts = [each.facts() for each in found]
    logs = {name: [fact[name] for fact in facts] for name in (facts[0] if facts else {})}
    return {"rewards": rewards, "scores": list(rewards), "extra_logs": logs}


def _row(label: Any) -> Mapping[str, Any]:
    if isinstance(label, str):
        try:
            row = json.loads(label)
        except (ValueError, RecursionError):
            return {"label": label}
        if isinstance(row, dict):
            return cast("Mapping[str, Any]", row)
    return {"label": label}


def _build(query: str, prompt: str) -> Callable[[], Trajectory]:
    return lambda: from_sides(prompt, query.removeprefix(prompt))
