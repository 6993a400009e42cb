"""A live sandbox that somebody else runs, over a link to the warden in it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from rubricgrade import tree
from rubricgrade.sandbox import state
from rubricgrade.sandbox.contract import Done, Isolation, MiB, Template
from rubricgrade.sandbox.warden import moving
from rubricgrade.sandbox.warden.asking import Held, Link, Nothing, Numbered, Piece, ask
from rubricgrade.sandbox.warden.bundle import places
from rubricgrade.sandbox.warden.process import WardenProcess

Reopen = Callable[[], Awaitable["WardenSandbox"]]


class WardenSandbox:
    """See `contract.Sandbox`. Belongs to the event loop that opened it."""

    def __init__(
        self, link: Link, template: Template, *, environment: dict[str, str], isolation: Isolation, reopen: Reopen
    ) -> None:
        """Take charge of a sandbox that runs and whose layers are in place.

        Args:
            link: The way to its warden; closed by `close`.
            template: What it was opened from.
            environment: Of every process in it.
            isolation: What holds in it.
            reopen: Opens another one from the same template.
        """
        self._link = link
        self._template = template
        self._environment = environment
        self._isolation = isolation
        self._reopen = reopen

    @property
    def isolation(self) -> Isolation:
        """What holds here."""
        return self._isolation

    @property
    def template(self) -> Template:
        """What it was opened from."""
        return self._template

    async def exec(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        stdin: bytes = b"",
        timeout: float = 120,  # noqa: ASYNC109  # a limit that is part of the contract: reaching it is a result
        limit: int = MiB,
    ) -> Done:
        """See `contract.Sandbox.exec`."""
        if user is not None:
            raise ValueError("this sandbox has one user only")
        process = await self._spawn(argv, cwd, env, timeout, limit, talk=bool(stdin))
        if isinstance(process, Done):
            return process
        feeding = asyncio.ensure_future(process.feed(stdin)) if stdin else None
        try:
            return await process.wait()
        finally:
            if feeding:
                feeding.cancel()
                await asyncio.gather(feeding, return_exceptions=True)  # what the command did not take, it did not want

    async def start(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float = 120,  # noqa: ASYNC109  # a limit that is part of the contract: reaching it is a result
        limit: int = MiB,
    ) -> WardenProcess:
        """See `contract.Sandbox.start`."""
        process = await self._spawn(argv, cwd, env, timeout, limit, talk=True)
        if isinstance(process, Done):
            raise ValueError(process.error)  # noqa: TRY004  # what is wrong is the request
        return process

    async def read(self, path: str, *, limit: int = 10 * MiB) -> bytes:
        """See `contract.Sandbox.read`."""
        try:
            held = await ask(self._link, Held, "open", path=self._absolute(path), mode=-1)
        except OSError as error:
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

    def _absolute(self, path: str) -> str:
        return str(PurePosixPath(self._template.workdir, path))

    def _budget(self) -> tree.Budget:
        limits = self._template.limits
        # Sparse files count by their apparent size, so that more may be seen than there is room for.
        return tree.Budget(entries=limits.files, total=4 * limits.disk, file=limits.file_size)

    async def _spawn(
        self,
        argv: Sequence[str],
        cwd: str | None,
        env: Mapping[str, str] | None,
        timeout: float,  # noqa: ASYNC109  # a limit that is part of the contract: reaching it is a result
        limit: int,
        *,
        talk: bool,
    ) -> WardenProcess | Done:
        words = [str(word) for word in argv]
        environment = self._environment | dict(env or {})
        if not words or any("\0" in text for text in (*words, *environment, *environment.values())):
            return Done(-1, error="not a command: empty, or with a NUL character")
        try:
            started = await ask(
                self._link,
                Numbered,
                "spawn",
                argv=words,
                env=environment,
                cwd=self._absolute(cwd or ""),
                timeout=timeout,
                limit=limit,
                talk=talk,
            )
        except OSError as error:
            return Done(-1, error=error.strerror or str(error))
        return WardenProcess(self._link, started.id)
