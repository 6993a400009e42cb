"""Ways to make trajectory files in tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rubricgrade.readers import load_trajectories, load_trajectory
from rubricgrade.trajectory import Trajectory

SAMPLES = Path(__file__).parent / "samples"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
USER = {"role": "user", "content": "weather?"}


def call(arguments: Any = "{}", name: str = "get", **more: Any) -> dict[str, Any]:
    """An entry of ``tool_calls``."""
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **more}


def written(folder: Path, value: Any, name: str = "file.json") -> Path:
    """A file with a JSON value, or with the text given."""
    file = folder / name
    file.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return file


def lines(folder: Path, values: list[Any], name: str = "file.jsonl") -> Path:
    """A JSONL file; a text is written as the line itself."""
    return written(folder, "".join(f"{v if isinstance(v, str) else json.dumps(v)}\n" for v in values), name)


def loaded(folder: Path, value: Any) -> Trajectory:
    """The one trajectory of a file with this value."""
    return load_trajectory(written(folder, value))


def all_loaded(folder: Path, value: Any) -> list[Trajectory]:
    """Every trajectory of a file with this value."""
    return load_trajectories(written(folder, value))


def codes(trajectory: Trajectory) -> list[str]:
    """The kinds of its warnings."""
    return [warning.code for warning in trajectory.warnings]
