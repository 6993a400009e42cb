"""Who decides judged criteria while a rubric is being tried: the model that is named, else what was recorded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rubricgrade.grading.asked import names_judge
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.rubric import Rubric
from rubricgrade.store.recorded import beside


def deciding(rubric: Rubric, file: Path, options: JudgeOptions) -> JudgeOptions:
    """The judge's settings for a rubric: where there is nobody to ask, nobody is asked.

    Args:
        rubric: May name a model itself.
        file: Where it was read from: ``verdicts.jsonl`` beside it decides when there is nobody to ask, unless other
            files of recorded verdicts are named.
        options: As they were given.
    """
    offline = options.offline or not (options.model or names_judge(rubric))
    files = options.verdicts or (beside(file) if offline else ())
    return replace(options, offline=offline, verdicts=files)
