"""The two agents that prove a task: one follows its reference solution, the other does nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rubricgrade.episode.agents.replay import perform, read_lines
from rubricgrade.episode.limits import End
from rubricgrade.episode.stage import Script, Stage
from rubricgrade.errors import Fault, InputError
from rubricgrade.trajectory import Call

SOLUTION = "/solution"
PATCH = f"git apply --unsafe-paths --whitespace=nowarn {SOLUTION}/solution.patch"


@dataclass(frozen=True, slots=True)
class Oracle:
    """Follows ``solution/``: ``play.yaml``, ``solve.sh`` or ``solution.patch``."""

    sees: Literal["task", "solution"] = "solution"
    name: str = "oracle"
    model: str = "oracle"

    async def act(self, stage: Stage, script: Script) -> End:
        """See `Agent.act`."""
        folder = script.folder / "solution"
        if (folder / "play.yaml").is_file():
            return await perform(stage, read_lines(folder / "play.yaml"))
        if (folder / "solve.sh").is_file():
            command = f"bash {SOLUTION}/solve.sh"
        elif (folder / "solution.patch").is_file():
            command = PATCH
        else:
            raise InputError(Fault("holds no solve.sh, solution.patch or play.yaml", str(folder)))
        seconds = min(stage.limits.seconds, 600.0)
        call = Call(id="solution", name="bash", arguments={"command": command, "timeout": seconds})
        (told,) = await stage.act("", (call,))
        await stage.act("The reference solution failed." if told.failed else "The reference solution was applied.")
        return "failed" if told.failed else "done"


@dataclass(frozen=True, slots=True)
class Nop:
    """Does nothing."""

    sees: Literal["task", "solution"] = "task"
    name: str = "nop"
    model: str = "nop"

    async def act(self, stage: Stage, script: Script) -> End:  # noqa: ARG002 - the protocol's
        """See `Agent.act`."""
        await stage.act("")
        return "done"
