"""Who decides judged criteria while a rubric is being tried: the model that is named, else what was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from rubricgrade.grading.judges import names_judge
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.rubric import Rubric
from rubricgrade.store.verdicts import beside


def deciding(
    rubric: Rubric,
    file: Path,
    *,
    model: str | None = None,
    base: str | None = None,
    offline: bool = False,
    verdicts: Sequence[Path] = (),
    cache: Path | Literal[False] | None = None,
    max_cost: float | None = None,
    per_minute: float | None = None,
) -> JudgeOptions:
    """The judge's settings.

    Args:
        rubric: May name a model itself.
        file: Where it was read from: ``verdicts.jsonl`` beside it decides when there is nobody to ask.
        model: The model to ask.
        base: Its endpoint.
        offline: Ask nobody, whoever is named.
        verdicts: Recorded verdicts, instead of those beside the rubric.
        cache: The verdict cache.
        max_cost: US dollars after which no call is made.
        per_minute: Calls that may start in a minute.
    """
    offline = offline or not (model or names_judge(rubric))
    files = tuple(verdicts) or (beside(file) if offline else ())
    return JudgeOptions(
        model=model,
        api_base=base,
        offline=offline,
        verdicts=files,
        cache=cache,
        max_cost=max_cost,
        per_minute=per_minute,
    )
