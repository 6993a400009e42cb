"""Agents that repeat what is written down: a stored trajectory's tool calls, or a play in YAML. Every result is real.

A play has ``steps``, each with ``say`` and ``calls``, a list of ``{tool: {argument: value}}``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from rubricgrade.episode.limits import End
from rubricgrade.episode.stage import Script, Stage
from rubricgrade.errors import Fault, InputError
from rubricgrade.loading import read_data
from rubricgrade.readers import load_trajectory
from rubricgrade.trajectory import Call

PLAYS = "plays"
Line = tuple[str, tuple[Call, ...]]


@dataclass(frozen=True, slots=True)
class Replay:
    """Repeats one script per attempt.

    Attributes:
        folder: Holds ``<task>/<sample>.yaml``, or episodes as ``<task>/<sample>/``; None: each task's own ``plays/``.
            Where an attempt has no script of its own, the scripts are gone through again.
    """

    folder: Path | None = None
    sees: Literal["task", "solution"] = "task"

    @property
    def name(self) -> str:
        """Where it reads."""
        return "replay" if self.folder is None else f"replay:{self.folder}"

    @property
    def model(self) -> str:
        """No model: a script."""
        return "replay"

    async def act(self, stage: Stage, script: Script) -> End:
        """See `Agent.act`."""
        return await perform(stage, read_lines(self._source(script)))

    def _source(self, script: Script) -> Path:
        if self.folder is None:
            home = script.folder / PLAYS
        elif script.step is None:
            home = self.folder / script.task
        else:
            raise InputError(
                Fault("a task of several steps is only repeated from the plays/ of its steps", script.task)
            )
        found = sorted(
            path for path in home.glob("*") if path.suffix == ".yaml" or (path / "trajectory.json").is_file()
        )
        if not found:
            raise InputError(Fault(f"nothing to replay for task {script.task}", str(home)))
        named = [path for path in found if path.stem == str(script.sample)]
        return named[0] if named else found[script.sample % len(found)]


async def perform(stage: Stage, lines: list[Line]) -> End:
    """Repeat a script, within the limits."""
    for number, (text, calls) in enumerate(lines):
        if number >= stage.limits.max_steps:
            return "max_steps"
        await stage.act(text, calls)
    return "done"


def read_lines(source: Path) -> list[Line]:
    """What an agent said and called, from an episode, a trajectory file or a play.

    Raises:
        InputError: It can't be read.
    """
    if source.suffix == ".yaml":
        return list(_play(source))
    steps = load_trajectory(source).steps
    return [(step.text, step.calls) for step in steps if step.role == "assistant"]


def _play(file: Path) -> Iterator[Line]:
    data = read_data(file.read_bytes(), str(file))
    steps = cast("Mapping[str, Any]", data).get("steps") if isinstance(data, dict) else None
    if not isinstance(steps, list):
        raise InputError(Fault("a play has a list of steps", str(file)))
    for index, step in enumerate(cast("list[Any]", steps), 1):
        if not isinstance(step, dict) or not {*cast("dict[str, Any]", step)} <= {"say", "calls"}:
            raise InputError(Fault(f"step {index}: has 'say' and 'calls', and nothing else", str(file)))
        line = cast("Mapping[str, Any]", step)
        calls = [pair for call in line.get("calls") or () for pair in call.items()]
        yield (
            (line.get("say") or "").strip(),
            tuple(
                Call(id=f"call_{index}_{number}", name=name, arguments=arguments or {})
                for number, (name, arguments) in enumerate(calls, 1)
            ),
        )
