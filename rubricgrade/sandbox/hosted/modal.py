"""modal (SDK 1.6): commands run by `Sandbox.exec`; a template's `image` is the name of an image in a registry.

Not run against the live service.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rubricgrade.errors import SandboxLost
from rubricgrade.sandbox.contract import MiB, Template
from rubricgrade.sandbox.hosted.machine import TTL, Machine, sdk

KEY = "rubricgrade"
LONGEST_TTL = 24 * 3600.0
"""Seconds that modal lets a machine live at most."""
PYTHON = "3.12"


class _Machine:
    def __init__(self, sandbox: Any) -> None:
        self._sandbox = sandbox

    async def run(self, command: str, *, seconds: float) -> str:
        """See `Machine.run`. The command travels as input: as an argument, 64 KiB would be too much."""
        process = await self._sandbox.exec.aio("sh", "-c", 'eval "$(cat)"', timeout=int(seconds))
        process.stdin.write(command.encode())
        process.stdin.write_eof()
        await process.stdin.drain.aio()
        output: str = await process.stdout.read.aio()
        code = await process.wait.aio()
        if code != 0:
            raise SandboxLost(f"a command of ours failed with {code}: {(await process.stderr.read.aio())[-500:]}")
        return output

    async def end(self) -> None:
        await self._sandbox.terminate.aio()
        await self._sandbox.detach.aio()


class Modal:
    """See `Vendor`. The keys are read from MODAL_TOKEN_ID and MODAL_TOKEN_SECRET, or from modal's own settings."""

    name = "modal"

    def __init__(self, *, app: str = KEY, image: Any = None, ttl: float = TTL) -> None:
        """Make machines.

        Args:
            app: Name of the modal app that they belong to; made if missing.
            image: A ``modal.Image``, used when our template names no image; default: Debian with Python 3.12.
            ttl: Seconds until a machine ends by itself; at most a day.
        """
        self._sdk = sdk("modal", "modal")
        self._app = app
        self._image = image
        self.ttl = min(ttl, LONGEST_TTL)

    async def create(self, template: Template, tag: str) -> Machine:
        """See `Vendor.create`."""
        image = self._image or self._sdk.Image.debian_slim(PYTHON)
        sandbox = await self._sdk.Sandbox.create.aio(
            "sleep",
            "infinity",
            app=await self._owner(),
            tags={KEY: tag},
            image=self._sdk.Image.from_registry(template.image) if template.image else image,
            timeout=int(self.ttl),
            memory=max(1024, -(-template.limits.memory // MiB)),
            block_network=template.network == "none",
        )
        return _Machine(sandbox)

    async def tags(self) -> Sequence[tuple[str, str]]:
        """See `Vendor.tags`."""
        app = await self._owner()
        machines = [each async for each in self._sdk.Sandbox.list.aio(app_id=app.app_id)]
        return [(each.object_id, (await each.get_tags.aio()).get(KEY, "")) for each in machines]

    async def remove(self, identity: str) -> None:
        """See `Vendor.remove`."""
        await (await self._sdk.Sandbox.from_id.aio(identity)).terminate.aio()

    async def _owner(self) -> Any:
        return await self._sdk.App.lookup.aio(self._app, create_if_missing=True)
