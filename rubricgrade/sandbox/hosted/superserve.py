"""superserve (SDK 0.11): commands run by `commands.run`; a template's `image` is the name of a superserve template.

Not run against the live service.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rubricgrade.errors import SandboxLost
from rubricgrade.sandbox.contract import Template
from rubricgrade.sandbox.hosted.machine import TTL, Machine, sdk

KEY = "rubricgrade"
EVERYWHERE = "0.0.0.0/0"
AFTER_PAUSE = 60
"""Seconds until a machine that was paused because its time is over is deleted."""


class _Machine:
    def __init__(self, sandbox: Any) -> None:
        self._sandbox = sandbox

    async def run(self, command: str, *, seconds: float) -> str:
        done = await self._sandbox.commands.run(command, timeout_seconds=int(seconds))
        if done.exit_code != 0 or done.truncated:
            raise SandboxLost(f"a command of ours failed with {done.exit_code}: {done.stderr[-500:]}")
        return done.stdout

    async def end(self) -> None:
        await self._sandbox.kill()


class Superserve:
    """See `Vendor`. The key is read from SUPERSERVE_API_KEY."""

    name = "superserve"

    def __init__(self, *, template: str | None = None, ttl: float = TTL) -> None:
        """Make machines.

        Args:
            template: Used when our template names no image; default: the vendor's.
            ttl: Seconds until a machine is paused by itself, and soon after that deleted.
        """
        self._sdk = sdk("superserve", "superserve")
        self._template = template
        self.ttl = ttl

    async def create(self, template: Template, tag: str) -> Machine:
        """See `Vendor.create`. The network is closed by its list of addresses that must not be reached."""
        network = self._sdk.NetworkConfig(deny_out=[EVERYWHERE]) if template.network == "none" else None
        sandbox = await self._sdk.AsyncSandbox.create(
            name=tag,
            from_template=template.image or self._template,
            timeout_seconds=int(self.ttl),
            auto_delete_seconds=AFTER_PAUSE,
            metadata={KEY: tag},
            network=network,
        )
        return _Machine(sandbox)

    async def tags(self) -> Sequence[tuple[str, str]]:
        """See `Vendor.tags`."""
        return [(each.id, each.metadata.get(KEY, "")) for each in await self._sdk.AsyncSandbox.list()]

    async def remove(self, identity: str) -> None:
        """See `Vendor.remove`."""
        await self._sdk.AsyncSandbox.kill_by_id(identity)
