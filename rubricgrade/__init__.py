"""Rubric and LLM-judge grading of agent trajectories: hard gates, weighted criteria, evidence, a reward to audit.

    grade(load_trajectory("run/trajectory.json"), load_rubric("rubric.yaml")).score

Public names are imported on first use, so that ``import rubricgrade`` costs next to nothing and loads no vendor code.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rubricgrade.version import __version__

if TYPE_CHECKING:
    from rubricgrade.checks.inside.case import Case, CheckResult
    from rubricgrade.client import RewardClient
    from rubricgrade.episode.playing import run_episode
    from rubricgrade.episode.task import Task
    from rubricgrade.errors import RubricgradeError
    from rubricgrade.grading import agrade, agrade_all, grade, grade_all
    from rubricgrade.judge.options import JudgeOptions
    from rubricgrade.loading import load_rubric
    from rubricgrade.readers import load_trajectories, load_trajectory
    from rubricgrade.result import Grade
    from rubricgrade.rewards.conversation import from_messages
    from rubricgrade.rubric import Rubric
    from rubricgrade.runs.running import Plan, run
    from rubricgrade.trajectory import Trajectory

_HOMES = {
    "Case": "checks.inside.case",
    "CheckResult": "checks.inside.case",
    "Grade": "result",
    "JudgeOptions": "judge.options",
    "Plan": "runs.running",
    "RewardClient": "client",
    "Rubric": "rubric",
    "RubricgradeError": "errors",
    "Task": "episode.task",
    "Trajectory": "trajectory",
    "agrade": "grading",
    "agrade_all": "grading",
    "from_messages": "rewards.conversation",
    "grade": "grading",
    "grade_all": "grading",
    "load_rubric": "loading",
    "load_trajectories": "readers",
    "load_trajectory": "readers",
    "run": "runs.running",
    "run_episode": "episode.playing",
}

__all__ = [
    "Case",
    "CheckResult",
    "Grade",
    "JudgeOptions",
    "Plan",
    "RewardClient",
    "Rubric",
    "RubricgradeError",
    "Task",
    "Trajectory",
    "__version__",
    "agrade",
    "agrade_all",
    "from_messages",
    "grade",
    "grade_all",
    "load_rubric",
    "load_trajectories",
    "load_trajectory",
    "run",
    "run_episode",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
