"""daytona (SDK 0.226): commands run by `process.exec`; a template's `image` is the name of a daytona snapshot.

Not run against the live service.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

from rubricgrade.errors import SandboxLost
from rubricgrade.sandbox.contract import Template
from rubricgrade.sandbox.hosted.machine import TTL, Machine, sdk

KEY = "rubricgrade"


class _Machine:
    def __init__(self, sandbox: Any, held: AsyncExitStack) -> None:
        self._sandbox = sandbox
        self._held = held

    async def run(self, command: str, *, seconds: float) -> str:
        done = await self._sandbox.process.exec(command, timeout=int(seconds))
        if done.exit_code != 0:
            raise SandboxLost(f"a command of ours failed with {done.exit_code}: {done.result[-500:]}")
        return done.result

    async def end(self) -> None:
        async with self._held:
            await self._sandbox.delete(wait=True)


class Daytona:
    """See `Vendor`. The key is read from DAYTONA_API_KEY."""

    name = "daytona"

    def __init__(self, *, snapshot: str | None = None, ttl: float = TTL) -> None:
        """Make machines.

        Args:
            snapshot: Used when our template names no image; default: the vendor's.
            ttl: Seconds until a machine is destroyed by itself; whole minutes count.
        """
        self._sdk = sdk("daytona", "daytona")
        self._snapshot = snapshot
        self.ttl = ttl

    async def create(self, template: Template, tag: str) -> Machine:
        """See `Vendor.create`. Each machine has a client of its own, closed with it: a client belongs to one loop."""
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(self._sdk.AsyncDaytona())
            parameters = self._sdk.CreateSandboxFromSnapshotParams(
                snapshot=template.image or self._snapshot,
                labels={KEY: tag},
                network_block_all=template.network == "none",
                auto_stop_interval=0,
                ttl_minutes=max(1, int(self.ttl // 60)),
            )
            sandbox = await client.create(parameters)
            return _Machine(sandbox, stack.pop_all())

    async def tags(self) -> Sequence[tuple[str, str]]:
        """See `Vendor.tags`."""
        async with self._sdk.AsyncDaytona() as client:
            return [(each.id, each.labels.get(KEY, "")) async for each in client.list()]

    async def remove(self, identity: str) -> None:
        """See `Vendor.remove`."""
        async with self._sdk.AsyncDaytona() as client:
            await (await client.get(identity)).delete()
