"""Whether a task is fit to be trained on, each doubt with the evidence that a person needs to decide about it."""

from rubricgrade.quality.asking import task_quality
from rubricgrade.quality.duplicates import duplicates
from rubricgrade.quality.records import KINDS, Doubt, Kind, QualityReport, Undecided

__all__ = ["KINDS", "Doubt", "Kind", "QualityReport", "Undecided", "duplicates", "task_quality"]
