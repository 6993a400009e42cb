"""Any command-line agent, run inside the fork; what it logged becomes the trajectory."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rubricgrade.episode.limits import End
from rubricgrade.episode.stage import Script, Stage
from rubricgrade.episode.tools import shown
from rubricgrade.errors import TrajectoryError
from rubricgrade.readers import load_trajectories
from rubricgrade.trajectory import Trajectory

LOG = "/tmp/agent-log"  # noqa: S108 - a path inside
LOG_SIZE = 64 << 20


@dataclass(frozen=True, slots=True)
class CommandAgent:
    """Runs a shell command in the work folder.

    ``$INSTRUCTION`` holds the task. A log of any format that `readers` know, written to ``$AGENT_LOG``, is read as the
    trajectory; without one, the command's output is.

    Attributes:
        command: For ``sh -c``.
    """

    command: str
    sees: Literal["task", "solution"] = "task"

    @property
    def name(self) -> str:
        """The command itself."""
        return f"command:{self.command}"

    @property
    def model(self) -> str:
        """Its first word."""
        return self.command.split()[0] if self.command.split() else "command"

    async def act(self, stage: Stage, script: Script) -> End:  # noqa: ARG002 - the protocol's
        """See `Agent.act`."""
        seconds = stage.limits.seconds
        env = {"INSTRUCTION": stage.instruction, "AGENT_LOG": LOG}
        try:
            done = await stage.sandbox.exec(["sh", "-c", self.command], env=env, timeout=seconds)
        finally:
            # Also when it is cancelled at the episode's time limit: what it logged until then counts.
            logged = await _read_log(stage)
            if logged is not None:
                stage.record.take(logged.steps)
        if logged is None:
            await stage.act(shown(done, seconds).text)
        return "timeout" if done.timed_out else "done" if done.ok else "failed"


async def _read_log(stage: Stage) -> Trajectory | None:
    """What the agent wrote down about itself; None when there is nothing that can be read."""
    try:
        data = await stage.sandbox.read(LOG, limit=LOG_SIZE)
    except (OSError, ValueError):
        return None
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "agent-log"
        file.write_bytes(data)
        try:
            return load_trajectories(file, strict=False)[-1]
        except TrajectoryError:
            return None
