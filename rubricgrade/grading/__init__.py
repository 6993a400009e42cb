"""Grading: a rubric and a trajectory in, gates, then criteria, a grade out."""

from rubricgrade.grading.engine import agrade
from rubricgrade.grading.many import agrade_all
from rubricgrade.grading.sync import grade, grade_all

__all__ = ["agrade", "agrade_all", "grade", "grade_all"]
