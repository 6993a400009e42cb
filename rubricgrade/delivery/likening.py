"""Near twins by embeddings of the instructions, for rewordings that share no words; any embedding model of litellm."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from rubricgrade.chat.providers import load
from rubricgrade.delivery.making import Likeness
from rubricgrade.delivery.twins import Pair
from rubricgrade.episode.task import Task
from rubricgrade.errors import JudgeError

THRESHOLD = 0.9
"""Cosine likeness from which two instructions are taken for one."""
BATCH = 64


def by_embeddings(model: str, *, threshold: float = THRESHOLD, **options: Any) -> Likeness:
    """A search for near twins that asks an embedding model once for each instruction.

    Args:
        model: As litellm names it.
        threshold: Cosine likeness, 0 to 1.
        options: For `litellm.embedding`, such as `api_base`.
    """

    def alike(tasks: Sequence[Task]) -> Iterator[Pair]:
        vectors = _vectors(model, [task.instruction for task in tasks], options)
        for (one, a), (two, b) in combinations(zip((task.id for task in tasks), vectors, strict=True), 2):
            value = sum(x * y for x, y in zip(a, b, strict=True))
            if value >= threshold:
                yield Pair(min(one, two), max(one, two), value, "embedding")

    return alike


def _vectors(model: str, texts: Sequence[str], options: dict[str, Any]) -> list[list[float]]:
    """Unit vectors, one a text.

    Raises:
        JudgeError: The model failed, or its answer is not one vector a text.
    """
    found: list[list[float]] = []
    for start in range(0, len(texts), BATCH):
        batch = list(texts[start : start + BATCH])
        try:
            answer = load().embedding(model=model, input=batch, **options)
            rows = [[float(value) for value in row["embedding"]] for row in answer.data]
        except Exception as error:
            # litellm raises classes of many libraries; whatever it is, no split is made without what was asked for.
            raise JudgeError(f"embeddings of {model} failed: {error}") from error
        if len(rows) != len(batch) or len({*map(len, rows)}) != 1:
            raise JudgeError(f"{model} gave {len(rows)} embeddings for {len(batch)} texts")
        found += [_unit(row) for row in rows]
    return found


def _unit(row: list[float]) -> list[float]:
    length = math.hypot(*row)
    if not math.isfinite(length) or length == 0:
        raise JudgeError("an embedding without a direction")
    return [value / length for value in row]
