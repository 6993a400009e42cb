"""The judge: what a model is shown and asked, how its replies are read, and when an answer counts as a verdict."""

from rubricgrade.judge.judging import Judging
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.judge.shelf import Documents
from rubricgrade.judge.verdict import Judged

__all__ = ["Documents", "JudgeOptions", "Judged", "Judging"]
