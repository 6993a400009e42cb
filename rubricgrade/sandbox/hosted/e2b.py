"""e2b (SDK 2.63): commands run by `commands.run`, as root; a template's `image` is the name of an e2b template.

Not run against the live service.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rubricgrade.sandbox.contract import Template
from rubricgrade.sandbox.hosted.machine import TTL, Machine, sdk

KEY = "rubricgrade"


class _Machine:
    def __init__(self, sandbox: Any) -> None:
        self._sandbox = sandbox

    async def run(self, command: str, *, seconds: float) -> str:
        return (await self._sandbox.commands.run(command, user="root", timeout=seconds)).stdout

    async def end(self) -> None:
        await self._sandbox.kill()


class E2B:
    """See `Vendor`. The key is read from E2B_API_KEY."""

    name = "e2b"

    def __init__(self, *, template: str = "base", ttl: float = TTL) -> None:
        """Make machines of an e2b template.

        Args:
            template: Used when our template names no image.
            ttl: Seconds until a machine ends by itself: at most one hour or one day, as the account allows.
        """
        self._sdk = sdk("e2b", "e2b")
        self._template = template
        self.ttl = ttl

    async def create(self, template: Template, tag: str) -> Machine:
        """See `Vendor.create`."""
        return _Machine(
            await self._sdk.AsyncSandbox.create(
                template.image or self._template,
                timeout=int(self.ttl),
                metadata={KEY: tag},
                allow_internet_access=template.network != "none",
            )
        )

    async def tags(self) -> Sequence[tuple[str, str]]:
        """See `Vendor.tags`."""
        pages = self._sdk.AsyncSandbox.list()
        found: list[tuple[str, str]] = []
        while pages.has_next:
            found += [(each.sandbox_id, each.metadata.get(KEY, "")) for each in await pages.next_items()]
        return found

    async def remove(self, identity: str) -> None:
        """See `Vendor.remove`."""
        await self._sdk.AsyncSandbox.kill(identity)
