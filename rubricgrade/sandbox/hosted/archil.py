"""archil (SDK 0.18): commands run by `Sandbox.exec`; a template's `image` is the id of an image or a base image.

Not run against the live service.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rubricgrade.errors import SandboxLost
from rubricgrade.sandbox.contract import MiB, Template
from rubricgrade.sandbox.hosted.machine import TTL, Machine, sdk

EXECS = 64
"""Commands that may run at once: every command of ours that is waited for holds one."""


class _Machine:
    def __init__(self, sandbox: Any) -> None:
        self._sandbox = sandbox

    async def run(self, command: str, *, seconds: float) -> str:
        result = await self._sandbox.exec.aio(command, timeout_seconds=int(seconds))
        if result.exit_code != 0:
            raise SandboxLost(f"a command of ours failed with {result.exit_code}: {result.stderr[-500:]}")
        return result.stdout

    async def end(self) -> None:
        await self._sandbox.delete.aio()


class Archil:
    """See `Vendor`. Key and region are read from ARCHIL_API_KEY and ARCHIL_REGION."""

    name = "archil"

    def __init__(self, *, base_image: str | None = None, ttl: float = TTL, **client: Any) -> None:
        """Make machines.

        Args:
            base_image: Used when our template names no image; default: the vendor's.
            ttl: Seconds until a machine ends by itself.
            **client: Arguments of ``archil.Archil``.
        """
        self._sdk = sdk("archil", "archil")
        self._client = self._sdk.Archil(**client)
        self._base_image = base_image
        self.ttl = ttl

    async def create(self, template: Template, tag: str) -> Machine:
        """See `Vendor.create`. The network is closed by its policy for what goes out."""
        action = "deny" if template.network == "none" else "allow"
        egress = self._sdk.SandboxEgressPolicy(default=action)
        sandbox = await self._client.sandboxes.create.aio(
            name=tag,
            base_image=template.image or self._base_image,
            mem_size_mib=max(1024, -(-template.limits.memory // MiB)),
            max_ttl_seconds=int(self.ttl),
            max_concurrent_execs=EXECS,
            network=self._sdk.SandboxNetwork(egress=egress),
        )
        return _Machine(sandbox)

    async def tags(self) -> Sequence[tuple[str, str]]:
        """See `Vendor.tags`."""
        return [(each.id, each.name) for each in await self._client.sandboxes.list.aio()]

    async def remove(self, identity: str) -> None:
        """See `Vendor.remove`."""
        sandbox = await self._client.sandboxes.get.aio(identity)
        await sandbox.delete.aio()
