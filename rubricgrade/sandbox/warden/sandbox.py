"""A live sandbox that somebody else runs, over a link to the warden in it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from pathlib import Path

from rubricgrade import tree
from rubricgrade.errors import SandboxLost, is_of_the_host
from rubricgrade.sandbox import failing, state
from rubricgrade.sandbox.commanded import Asked, Commanded
from rubricgrade.sandbox.contract import Done, Isolation, MiB, Template
from rubricgrade.sandbox.warden import moving
from rubricgrade.sandbox.warden.asking import Held, Link, Nothing, Numbered, Piece, ask
from rubricgrade.sandbox.warden.bundle import places
from rubricgrade.sandbox.warden.process import WardenProcess

Reopen = Callable[[], Awaitable["WardenSandbox"]]


class WardenSandbox(Commanded[WardenProcess]):
    """See `contract.Sandbox`. Belongs to the event loop that opened it."""

    def __init__(
        self, link: Link, template: Template, *, environment: dict[str, str], isolation: Isolation, reopen: Reopen
    ) -> None:
        """Take charge of a sandbox that runs and whose layers are in place.

        Args:
            link: The way to its warden; closed by `close`.
            template: What it was opened from.
            environment: See `Commanded`.
            isolation: See `Commanded`.
            reopen: Opens another one from the same template.
        """
        super().__init__(template, environment=environment, isolation=isolation)
        self._link = link
        self._reopen = reopen

    async def read(self, path: str, *, limit: int = 10 * MiB) -> bytes:
        """See `contract.Sandbox.read`."""
        try:
            held = await ask(self._link, Held, "open", path=self._absolute(path), mode=-1)
        except OSError as error:
            if is_of_the_host(error):
                raise SandboxLost(f"{path!r} can't be read: {error.strerror}") from error
            raise FileNotFoundError(error.errno, f"no readable file ({error.strerror})", path) from error
        data = bytearray()
        try:
            if held.size > limit:
                raise ValueError(f"{path!r} has {held.size} bytes; at most {limit} are read")
            size = self._link.reply
            while piece := (await ask(self._link, Piece, "pull", handle=held.handle, size=size)).data:
                data += piece
                if len(data) > limit:
                    raise ValueError(f"{path!r} grew past {limit} bytes")
        finally:
            await ask(self._link, Nothing, "drop", handle=held.handle)
        return bytes(data)

    async def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """See `contract.Sandbox.write`."""
        held = await ask(self._link, Held, "open", path=self._absolute(path), mode=mode & 0o777)
        size = self._link.piece // 2
        try:
            for start in range(0, len(data), size):
                piece = base64.b64encode(data[start : start + size]).decode()
                await ask(self._link, Nothing, "push", handle=held.handle, data=piece)
        finally:
            await ask(self._link, Nothing, "drop", handle=held.handle)

    async def fork(self) -> WardenSandbox:
        """See `contract.Sandbox.fork`.

        Costs opening the template and a copy of what this one has changed so far. FIFOs, sockets and what exceeds the
        template's limits are not copied.
        """
        other = await self._reopen()
        try:
            for place in places(self._template):
                filling = await moving.fill(other.link, place)
                async for items in moving.changed(self._link, place, self._budget(), self._link.piece // 2):
                    await filling.add(items)
                await filling.finish()
        except BaseException:
            await other.close()
            raise
        return other

    async def snapshot(self, archive: Path) -> tree.Listing:
        """See `contract.Sandbox.snapshot`. A file that was replaced by an equal one counts as changed."""
        with failing.lost():
            entry = await asyncio.to_thread(state.create)
            try:
                scratch = entry.folder / "files"
                return await moving.fetch(self._link, self._template.workdir, archive, scratch, self._budget())
            finally:
                await asyncio.shield(asyncio.to_thread(entry.release))

    async def close(self) -> None:
        """See `contract.Sandbox.close`."""
        await asyncio.shield(asyncio.ensure_future(self._link.close()))

    @property
    def link(self) -> Link:
        """The way to its warden."""
        return self._link

    async def _begin(self, asked: Asked) -> WardenProcess | Done:
        try:
            started = await ask(
                self._link,
                Numbered,
                "spawn",
                argv=asked.argv,
                env=asked.environment,
                cwd=asked.folder,
                timeout=asked.timeout,
                limit=asked.limit,
                talk=asked.talk,
            )
        except OSError as error:
            if error.errno in failing.NO_ROOM:
                raise SandboxLost(f"no command can be started in the sandbox: {error.strerror}") from error
            return Done(-1, error=error.strerror or str(error))
        return WardenProcess(self._link, started.id)
