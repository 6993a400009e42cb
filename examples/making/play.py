"""Play a scripted agent against real tools and record it: what it says is written by hand, what it sees is real.

A script is YAML: ``sample``, and ``steps`` of ``say`` and ``calls`` (each ``{tool: arguments}``).
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from making.tools import Tool
from rubricgrade.episode.inside.desk import ToolFault
from rubricgrade.readers import write_trajectory
from rubricgrade.trajectory import Call, Step, Text, Trajectory

AUTHOR = "scripted by hand"


@dataclass(frozen=True)
class Stage:
    """Where and with what an agent acts.

    Attributes:
        task_id: Names the task.
        system: The agent's system prompt.
        task: Its instruction.
        tools: What it can call.
        folder: The episode's folder, which holds ``workspace/`` already.
    """

    task_id: str
    system: str
    task: str
    tools: Mapping[str, Tool]
    folder: Path


def fresh(folder: Path, start: Path | None = None) -> Path:
    """An empty episode folder (an older one is replaced) with a workspace that holds the files of `start`."""
    if folder.exists():
        shutil.rmtree(folder)
    workspace = folder / "workspace"
    if start is None:
        workspace.mkdir(parents=True)
    else:
        shutil.copytree(start, workspace)
    return workspace


def play(script: Path, stage: Stage) -> Trajectory:
    """Play a script to its end and write ``trajectory.json``."""
    lines: dict[str, Any] = yaml.safe_load(script.read_text())
    steps = [
        Step(role="system", content=(Text(text=stage.system),)),
        Step(role="user", content=(Text(text=stage.task),)),
    ]
    for line in lines["steps"]:
        steps += _step(line, stage.tools, len(steps))
    trajectory = Trajectory(
        id=f"{stage.task_id}-{lines['sample']}",
        task=stage.task,
        task_id=stage.task_id,
        sample=lines["sample"],
        model=AUTHOR,
        steps=tuple(steps),
    )
    write_trajectory(trajectory, stage.folder / "trajectory.json")
    return trajectory


def _step(line: dict[str, Any], tools: Mapping[str, Tool], index: int) -> list[Step]:
    calls = [
        Call(id=f"call_{index}_{number}", name=name, arguments=arguments or {})
        for number, call in enumerate(line.get("calls", []), 1)
        for name, arguments in call.items()
    ]
    said = (Text(text=line["say"].strip()),) if line.get("say") else ()
    answers = [_answer(call, tools, (index, number)) for number, call in enumerate(calls, 1)]
    return [Step(role="assistant", content=said, calls=tuple(calls)), *answers]


def _answer(call: Call, tools: Mapping[str, Tool], place: tuple[int, int]) -> Step:
    try:
        result, failed = tools[call.name](**(call.arguments or {})), False
    except ToolFault as fault:
        result, failed = f"error: {fault}", True
    return Step(role="tool", content=(Text(text=result),), answers=place, tool=call.name, failed=failed)
