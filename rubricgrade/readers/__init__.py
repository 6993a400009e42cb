"""Files to trajectories: any of the known formats is recognised by its content and read without loss in silence."""

from __future__ import annotations

from rubricgrade.readers.atif_writer import to_atif, write_atif
from rubricgrade.readers.load import load_trajectories, load_trajectory, read_trajectory
from rubricgrade.readers.native import native_document, trajectory_schema, write_trajectory

__all__ = [
    "load_trajectories",
    "load_trajectory",
    "native_document",
    "read_trajectory",
    "to_atif",
    "trajectory_schema",
    "write_atif",
    "write_trajectory",
]
