"""A running command, seen from the host over a link."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from rubricgrade.errors import SandboxLost
from rubricgrade.sandbox.contract import Done, MiB
from rubricgrade.sandbox.warden.asking import WITHIN, Ending, Line, Link, Nothing, Taken, ask

FULL_WAIT = 0.05
"""Seconds to wait when a command does not take its input."""


class WardenProcess:
    """See `contract.Process`."""

    def __init__(self, link: Link, number: int) -> None:
        """Talk to a command that was started.

        Args:
            link: The way to its warden.
            number: Its number there.
        """
        self._link = link
        self._number = number
        self._done: Done | None = None
        self._one_at_a_time = asyncio.Lock()

    async def send(self, data: bytes) -> None:
        """See `contract.Process.send`."""
        view = memoryview(data)
        while view:
            if self._done:
                raise BrokenPipeError("the command takes no more input")
            piece = base64.b64encode(view[: self._link.piece]).decode()
            taken = (await ask(self._link, Taken, "send", id=self._number, data=piece)).taken
            if taken == "broken":
                raise BrokenPipeError("the command takes no more input")
            if taken == "ok":
                view = view[self._link.piece :]
            else:
                await asyncio.sleep(FULL_WAIT)

    async def receive(self, limit: int = MiB) -> bytes:
        """See `contract.Process.receive`."""
        if self._done:
            return b""
        while (line := await ask(self._link, Line, "line", id=self._number, limit=limit, within=WITHIN)).pending:
            pass
        if line.long or len(line.line) > limit:
            raise ValueError(f"a line of more than {limit} bytes")
        return line.line

    async def finish(self) -> Done:
        """See `contract.Process.finish`."""
        if self._done is None:
            await self.shut()
        return await self.wait()

    async def wait(self) -> Done:
        """Wait for its end with its input left as it is."""
        async with self._one_at_a_time:
            async with self._killed_when_cancelled():
                while self._done is None:
                    ending = await ask(self._link, Ending, "wait", id=self._number, within=WITHIN)
                    if not ending.pending:
                        self._done = ending.done()
            return self._done

    async def shut(self) -> None:
        """Close its input."""
        await ask(self._link, Nothing, "shut", id=self._number)

    async def feed(self, data: bytes) -> None:
        """Write all of its input, as far as it wants it, and close that."""
        with contextlib.suppress(BrokenPipeError):
            await self.send(data)
            await self.shut()

    async def kill(self) -> None:
        """See `contract.Process.kill`."""
        with contextlib.suppress(SandboxLost):
            await ask(self._link, Nothing, "kill", id=self._number)

    @asynccontextmanager
    async def _killed_when_cancelled(self) -> AsyncGenerator[None]:
        try:
            yield
        except asyncio.CancelledError:
            await asyncio.shield(self.kill())
            raise
