"""Playing and grading on the nodes of a Ray cluster (extra ``ray``).

Each node has one actor with its sandboxes and its judge; one more keeps the global limits; the caller alone writes the
record.
"""

from rubricgrade.runs.executing.ray.executor import RayExecutor

__all__ = ["RayExecutor"]
