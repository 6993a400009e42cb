"""A checker's sandbox with its runners: each carries out one check after another, in children of its own."""

from __future__ import annotations

from rubricgrade.sandbox import Process, Sandbox

KiB = 1 << 10
RUNNER = ("python3", "-I", "-B", "-m", "rubricgrade.checks.inside.runner")
KEPT = 256 * KiB
"""Bytes kept of what the checks of one runner print."""
DAY = 24 * 3600.0


class Checker:
    """A sandbox with the sealed files. Starting Python costs more than most checks, so runners are used again."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Take charge of a sandbox.

        Args:
            sandbox: Ended by `close`.
        """
        self._sandbox = sandbox
        self._idle: list[Process] = []

    async def take(self) -> Process:
        """A runner that waits for a request. Raises `SandboxLost` when the sandbox has died."""
        if self._idle:
            return self._idle.pop()
        return await self._sandbox.start(RUNNER, cwd="/tmp", timeout=DAY, limit=KEPT)  # noqa: S108 - a path inside

    def give_back(self, runner: Process) -> None:
        """Keep a runner that has told how its check went for the next one; any other has to be killed."""
        self._idle.append(runner)

    async def close(self) -> None:
        """End the sandbox and all runners."""
        try:
            for runner in self._idle:
                await runner.kill()
            self._idle.clear()
        finally:
            await self._sandbox.close()
