"""TRL: an environment for `GRPOTrainer`: a sandbox with a shell, and the reward of what is left in it.

    trainer = GRPOTrainer(..., environment_factory=environment("rubric.yaml", template))

It sees what the model calls, not what it says: to judge words, use `trl.reward_function`, with environments that have a
`workspace`.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rubricgrade.integrations.rewarding import Rewarder
from rubricgrade.rewards.conversation import from_messages
from rubricgrade.rewards.rubrics import RubricSource
from rubricgrade.sandbox import Provider, Sandbox, Template, base_template, default_provider
from rubricgrade.trajectory import Trajectory

SHOWN = 10_000


def environment(
    rubric: RubricSource,
    template: Template | None = None,
    *,
    provider: Provider | None = None,
    seconds: float = 60,
    **options: Any,
) -> partial[RubricEnvironment]:
    """A factory of environments that share a rubric, a judge and a template.

    Args:
        rubric: As in `Rewarder`; a row holds the data set's columns.
        template: What every episode's sandbox starts from; default: an empty work folder.
        provider: Makes the sandboxes.
        seconds: Limit of one command.
        **options: Further arguments of `Rewarder`, which says what it raises.
    """
    provider = provider or default_provider()
    start = replace(template or base_template(), upper="disk")
    rewarder = Rewarder(rubric, provider=provider, template=start, **options)
    return partial(RubricEnvironment, rewarder, provider, start, seconds)


class RubricEnvironment:
    """One episode at a time in a fork of the template. Its public methods, but for two, are the model's tools."""

    def __init__(self, rewarder: Rewarder, provider: Provider, template: Template, seconds: float) -> None:
        self._rewarder, self._provider, self._template, self._seconds = rewarder, provider, template, seconds
        self._row: dict[str, Any] = {}
        self._messages: list[dict[str, Any]] = []
        self._sandbox: Sandbox | None = None
        self._stale: Sandbox | None = None  # of an episode that was left

    def reset(self, **row: Any) -> None:
        """Begin the next episode; its sandbox is made when it is first needed."""
        prompt = row.get("prompt") or ""
        self._row = row
        self._messages = list(prompt) if isinstance(prompt, list) else [{"role": "user", "content": prompt}]  # pyright: ignore[reportUnknownArgumentType] - messages of the host
        self._stale, self._sandbox = self._sandbox, None

    async def bash(self, command: str) -> str:
        """Run a shell command in the work folder and return what it prints.

        Args:
            command: The command, for bash.
        """
        done = await (await self._open()).exec(["bash", "-c", command], timeout=self._seconds, limit=SHOWN)
        output = (done.stdout + done.stderr).decode("utf-8", "replace")
        note = f"timed out after {self._seconds:g} s" if done.timed_out else done.error or f"exit code {done.code}"
        told = output if done.ok else f"{output}[{note}]"
        call = {"function": {"name": "bash", "arguments": {"command": command}}}
        self._messages += [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "name": "bash", "content": told},
        ]
        return told

    async def get_reward(self) -> float | None:
        """The score of what the episode has left; None where the grader failed."""
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder) / "workspace.tar.zst"
            return (await self._rewarder.one(lambda: self._left(archive), self._row)).reward

    async def _left(self, archive: Path) -> Trajectory:
        """What there is to grade; the sandbox is closed."""
        sandbox = await self._open()
        try:
            # What the agent has left running must not change anything under the snapshot.
            await sandbox.exec(["sh", "-c", "kill -9 -1"], timeout=10)
            await sandbox.snapshot(archive)
        finally:
            self._sandbox = None
            await sandbox.close()
        return from_messages(self._messages).located(workspace=archive)

    async def _open(self) -> Sandbox:
        stale, self._stale = self._stale, None
        if stale is not None:
            await stale.close()
        if self._sandbox is None:
            self._sandbox = await self._provider.open(self._template, label="trl")
        return self._sandbox
