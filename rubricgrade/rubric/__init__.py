"""The rubric: gates, weighted criteria, and what each of them asks. Values only; `loading` reads them from YAML."""

from rubricgrade.rubric.check import Check
from rubricgrade.rubric.counting import Counting
from rubricgrade.rubric.judge import Choice, Judge
from rubricgrade.rubric.model import Band, Criterion, Example, ForEach, Gate, Rubric, Scored
from rubricgrade.rubric.rules import Problem, problems

__all__ = [
    "Band",
    "Check",
    "Choice",
    "Counting",
    "Criterion",
    "Example",
    "ForEach",
    "Gate",
    "Judge",
    "Problem",
    "Rubric",
    "Scored",
    "problems",
]
