"""Who plays episodes and grades them: this process, or nodes of a Ray cluster. Only the caller writes the record."""

from rubricgrade.runs.executing.choosing import choose_executor, elsewhere
from rubricgrade.runs.executing.contract import Executor, Terms, Workers
from rubricgrade.runs.executing.local import Local

__all__ = ["Executor", "Local", "Terms", "Workers", "choose_executor", "elsewhere"]
