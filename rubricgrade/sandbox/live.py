"""One live bubblewrap sandbox: runs commands, moves files, copies itself, ends."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import stat
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from rubricgrade import tree
from rubricgrade.errors import SandboxLost, is_of_the_host
from rubricgrade.sandbox import cgroups, failing, launch, quota, shortage, state
from rubricgrade.sandbox.building import SHM
from rubricgrade.sandbox.command import Command, Streams
from rubricgrade.sandbox.commanded import Asked, Commanded
from rubricgrade.sandbox.contract import Done, Isolation, MiB, Template
from rubricgrade.sandbox.interior import HOLLOW
from rubricgrade.sandbox.link import END_WAIT, RETRY, Link
from rubricgrade.sandbox.proxy import Proxy
from rubricgrade.sandbox.wire import Spawn

OF_THE_PLACE = frozenset({errno.EDQUOT, errno.ENOSPC, errno.EROFS})
"""Numbers of errors in writing that tell of the place that was written to: it may be the sandbox's own."""
NO_DISK = "the disk of the host is full, and the sandbox was refused what it may write"


@dataclass(frozen=True, slots=True)
class Parts:
    """What one sandbox is made of.

    Attributes:
        link: The tie to its pid 1.
        entry: Its folder on the host.
        group: Its control groups, where there are any.
        writable: Places that it may write to, in pid 1's order.
        disk: Folders on disk that hold what it has changed.
        proxy: Its way out, where it has a list of allowed hosts.
    """

    link: Link
    entry: state.Entry
    group: cgroups.Group | None
    writable: tuple[str, ...]
    disk: tuple[Path, ...]
    proxy: Proxy | None = None

    def end(self) -> None:
        """Kill it, wait until it is gone, remove its files. May be called twice, by several threads."""
        if self.link.end():
            if self.proxy:
                self.proxy.stop()
            self.entry.release()


Reopen = Callable[[launch.Seed], Awaitable["BubblewrapSandbox"]]


class BubblewrapSandbox(Commanded[Command]):
    """One live sandbox; see `contract.Sandbox`. Usable from any event loop of the process that opened it."""

    def __init__(
        self,
        parts: Parts,
        template: Template,
        *,
        environment: dict[str, str],
        isolation: Isolation,
        whole: Callable[[], bool],
        reopen: Reopen,
    ) -> None:
        """Take charge of a sandbox that runs.

        Args:
            parts: What it is made of; ended by `close`.
            template: What it was opened from.
            environment: See `Commanded`.
            isolation: See `Commanded`.
            whole: Tells whether all that it shares with others is still there.
            reopen: Opens another one from the same template, with files put in first.
        """
        super().__init__(template, environment=environment, isolation=isolation)
        self._parts = parts
        self._whole = whole
        self._reopen = reopen
        limits = template.limits
        self._watch = quota.Watch(parts.disk, limits.disk, limits.files, self._purge) if parts.disk else None

    async def read(self, path: str, *, limit: int = 10 * MiB) -> bytes:
        """See `contract.Sandbox.read`."""
        return await asyncio.to_thread(self._read, self._absolute(path), limit)

    async def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """See `contract.Sandbox.write`."""
        await asyncio.to_thread(self._write, self._absolute(path), data, mode & 0o777)

    async def fork(self) -> BubblewrapSandbox:
        """See `contract.Sandbox.fork`.

        Costs a copy of what this one has changed so far, not of its template. FIFOs, sockets and what exceeds the
        template's limits are not copied, nor is /dev/shm. Processes that write meanwhile may be caught in the middle.
        """
        return await self._reopen(self._seed)

    async def snapshot(self, archive: Path, *, place: str | None = None) -> tree.Listing:
        """Write what was changed in the work folder as an archive (see `tree.pack`) and list it.

        Deleted paths are listed with the kind ``deleted``; what has no place in an archive, as skipped. A template's
        fork with the archive staged as its topmost layer (``stage(archive, layer=True)``) shows the same files.

        Args:
            archive: The file to write, usually ``workspace.tar.zst``.
            place: Another place that the template makes writable, instead of the work folder.
        """
        return await asyncio.to_thread(
            self._with_upper,
            place or self._template.workdir,
            lambda fd: tree.pack(fd, archive, self._budget(), layer=True),
        )

    async def changes(self) -> tree.Listing:
        """List what was made, changed or deleted in the work folder."""
        return await asyncio.to_thread(
            self._with_upper, self._template.workdir, lambda fd: tree.walk(fd, self._budget(), layer=True)
        )

    async def close(self) -> None:
        """See `contract.Sandbox.close`."""
        if self._watch:
            self._watch.stop()
        self._parts.link.shut()
        try:
            await self._parts.link.gone()
            if self._parts.disk:
                await asyncio.to_thread(self._parts.end)  # there may be much to remove
        finally:
            self._parts.end()  # at once, unless we are cancelled: even then nothing may stay

    # --- Inside ---------------------------------------------------------------------------------------------------

    def _uppers(self, stack: contextlib.ExitStack) -> dict[str, int]:
        fds = self._parts.link.ask(("uppers",))
        for fd in fds:
            stack.callback(os.close, fd)
        return dict(zip(self._parts.writable, fds, strict=True))

    def _with_upper(self, place: str, work: Callable[[int], tree.Listing]) -> tree.Listing:
        with failing.lost(), contextlib.ExitStack() as stack:
            return work(self._uppers(stack)[place])

    def _seed(self, fds: list[int]) -> None:
        """Copy what was changed here into the still empty folders of changes of a fork."""
        owner = self._isolation.kernel_uid if os.geteuid() == 0 else None
        with contextlib.ExitStack() as stack:
            for (target, source), to in zip(self._uppers(stack).items(), fds, strict=True):
                if target != SHM:
                    tree.copy(source, to, self._budget(), owner=owner, layer=True)

    def _purge(self) -> None:
        with contextlib.suppress(SandboxLost):  # then there is nothing left to end
            self._parts.link.ask(("purge",))

    async def _begin(self, asked: Asked) -> Command | Done:
        request: Spawn = ("spawn", asked.argv, asked.environment, asked.folder)
        group, watch, lost = self._parts.group, self._watch, self._parts.link.lost
        before = shortage.counts(group)
        purges, shortages = (watch.purges, watch.shortages) if watch else (0, 0)

        def spoiled() -> str:
            if not self._whole():
                return HOLLOW
            full = watch is not None and (watch.shortages > shortages or watch.is_short())
            return NO_DISK if full else shortage.since(before, group)

        with failing.lost(), contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
            channel, channel_inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            ours.callback(channel.close)
            theirs.callback(channel_inside.close)

            def pipe(mine: int) -> tuple[int, int]:
                ends = os.pipe()
                ours.callback(os.close, ends[mine])
                theirs.callback(os.close, ends[1 - mine])
                os.set_blocking(ends[mine], False)
                return ends[mine], ends[1 - mine]

            stdin, stdin_inside = pipe(1) if asked.talk else (-1, -1)
            stdout, stdout_inside = pipe(0)
            stderr, stderr_inside = pipe(0)
            channel.setblocking(False)
            fds = [channel_inside.fileno(), stdin_inside, stdout_inside, stderr_inside]
            try:
                await self._send(request, tuple(fd for fd in fds if fd >= 0))
            except ValueError as error:
                return Done(-1, error=str(error))
            ours.pop_all()
        return Command(
            Streams(channel, stdin, stdout, stderr),
            timeout=asked.timeout,
            limit=asked.limit,
            oom=lambda: shortage.counts(group).killed > before.killed,
            full=lambda: watch is not None and watch.purges > purges,
            spoiled=spoiled,
            lost=lost,
            give_up=self._give_up,
        )

    def _give_up(self) -> None:
        """End a sandbox that does not obey, without making the event loop wait for it."""
        threading.Thread(target=self._parts.end).start()

    async def _send(self, request: Spawn, fds: tuple[int, ...]) -> None:
        for _ in range(int(END_WAIT / RETRY)):
            try:
                return self._parts.link.send(request, fds)
            except BlockingIOError:
                await asyncio.sleep(RETRY)
        raise SandboxLost("the sandbox takes no more requests")

    def _read(self, path: str, limit: int) -> bytes:
        try:
            (fd,) = self._parts.link.ask(("open", path, -1))
        except OSError as error:
            if is_of_the_host(error):
                raise SandboxLost(f"{path!r} can't be read: {error.strerror}") from error
            raise FileNotFoundError(error.errno, f"no readable file ({error.strerror})", path) from error
        try:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                raise FileNotFoundError(f"{path!r} is no regular file")
            if status.st_size > limit:
                raise ValueError(f"{path!r} has {status.st_size} bytes; at most {limit} are read")
            data = bytearray()
            while len(data) <= limit and (chunk := os.read(fd, min(MiB, limit + 1 - len(data)))):
                data += chunk
        finally:
            os.close(fd)
        if len(data) > limit:
            raise ValueError(f"{path!r} grew past {limit} bytes")
        return bytes(data)

    def _write(self, path: str, data: bytes, mode: int) -> None:
        try:
            self._put(path, data, mode)
        except OSError as error:
            short = self._watch is not None and self._watch.is_short()
            if short or (is_of_the_host(error) and error.errno not in OF_THE_PLACE):
                raise SandboxLost(f"{path!r} can't be written: {error.strerror}", by_host=short) from error
            raise

    def _put(self, path: str, data: bytes, mode: int) -> None:
        (fd,) = self._parts.link.ask(("open", path, mode))
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
        except OSError:
            os.ftruncate(fd, 0)  # give the room back: half a file is of no use
            raise
        finally:
            os.close(fd)
