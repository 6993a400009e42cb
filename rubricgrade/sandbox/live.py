"""One live bubblewrap sandbox: runs commands, moves files, copies itself, ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import stat
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rubricgrade import tree
from rubricgrade.errors import SandboxLost
from rubricgrade.sandbox import cgroups, launch, quota, state
from rubricgrade.sandbox.building import SHM
from rubricgrade.sandbox.command import Command, Streams
from rubricgrade.sandbox.contract import Done, Isolation, MiB, Template
from rubricgrade.sandbox.link import END_WAIT, RETRY, Link
from rubricgrade.sandbox.wire import Open, Purge, Spawn, Uppers

REPLY_WAIT = 30.0
"""Seconds in which pid 1 must answer a request for a file."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What one sandbox is made of.

    Attributes:
        link: The tie to its pid 1.
        entry: Its folder on the host.
        group: Its control groups, where there are any.
        writable: Places that it may write to, in pid 1's order.
        disk: Folders on disk that hold what it has changed.
    """

    link: Link
    entry: state.Entry
    group: cgroups.Group | None
    writable: tuple[str, ...]
    disk: tuple[Path, ...]

    def end(self) -> None:
        """Kill it, wait until it is gone, remove its files. May be called twice, by several threads."""
        if self.link.end():
            self.entry.release()


Reopen = Callable[[launch.Seed], Awaitable["BubblewrapSandbox"]]


class BubblewrapSandbox:
    """One live sandbox; see `contract.Sandbox`. Usable from any event loop of the process that opened it."""

    def __init__(
        self,
        parts: Parts,
        template: Template,
        *,
        environment: dict[str, str],
        isolation: Isolation,
        reopen: Reopen,
    ) -> None:
        """Take charge of a sandbox that runs.

        Args:
            parts: What it is made of; ended by `close`.
            template: What it was opened from.
            environment: Of every process in it.
            isolation: What holds in it.
            reopen: Opens another one from the same template, with files put in first.
        """
        self._parts = parts
        self._template = template
        self._environment = environment
        self._isolation = isolation
        self._reopen = reopen
        limits = template.limits
        self._watch = quota.Watch(parts.disk, limits.disk, limits.files, self._purge) if parts.disk else None

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
            raise ValueError("a bubblewrap sandbox has one user only")
        command = await self._spawn(argv, cwd, env, timeout, limit, talk=bool(stdin))
        if isinstance(command, Done):
            return command
        feeding = asyncio.ensure_future(command.feed(stdin)) if stdin else None
        try:
            return await command.finish(keep_stdin=feeding is not None)
        finally:
            if feeding:
                feeding.cancel()

    async def start(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float = 120,  # noqa: ASYNC109  # a limit that is part of the contract: reaching it is a result
        limit: int = MiB,
    ) -> Command:
        """See `contract.Sandbox.start`."""
        command = await self._spawn(argv, cwd, env, timeout, limit, talk=True)
        if isinstance(command, Done):
            raise ValueError(command.error)  # noqa: TRY004  # what is wrong is the request
        return command

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

    def _budget(self) -> tree.Budget:
        limits = self._template.limits
        # Sparse files count by their apparent size, so that more may be seen than there is room for.
        return tree.Budget(entries=limits.files, total=4 * limits.disk, file=limits.file_size)

    def _uppers(self, stack: contextlib.ExitStack) -> dict[str, int]:
        fds = self._ask(("uppers",))
        for fd in fds:
            stack.callback(os.close, fd)
        return dict(zip(self._parts.writable, fds, strict=True))

    def _with_upper(self, place: str, work: Callable[[int], tree.Listing]) -> tree.Listing:
        with contextlib.ExitStack() as stack:
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
            self._ask(("purge",))

    def _absolute(self, path: str) -> str:
        return str(PurePosixPath(self._template.workdir, path))

    async def _spawn(
        self,
        argv: Sequence[str],
        cwd: str | None,
        env: Mapping[str, str] | None,
        timeout: float,  # noqa: ASYNC109  # a limit that is part of the contract: reaching it is a result
        limit: int,
        *,
        talk: bool,
    ) -> Command | Done:
        words = [str(word) for word in argv]
        environment = self._environment | dict(env or {})
        if not words or any("\0" in text for text in (*words, *environment, *environment.values())):
            return Done(-1, error="not a command: empty, or with a NUL character")
        request: Spawn = ("spawn", words, environment, self._absolute(cwd or ""))
        kills, purges = self._kills(), self._watch.purges if self._watch else 0
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
            channel, channel_inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            ours.callback(channel.close)
            theirs.callback(channel_inside.close)

            def pipe(mine: int) -> tuple[int, int]:
                ends = os.pipe()
                ours.callback(os.close, ends[mine])
                theirs.callback(os.close, ends[1 - mine])
                os.set_blocking(ends[mine], False)
                return ends[mine], ends[1 - mine]

            stdin, stdin_inside = pipe(1) if talk else (-1, -1)
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
            timeout=timeout,
            limit=limit,
            oom=lambda: self._kills() > kills,
            full=lambda: (self._watch.purges if self._watch else 0) > purges,
            give_up=self._give_up,
        )

    def _give_up(self) -> None:
        """End a sandbox that does not obey, without making the event loop wait for it."""
        threading.Thread(target=self._parts.end).start()

    def _kills(self) -> int:
        try:
            return self._parts.group.kills() if self._parts.group else 0
        except OSError:
            return 0  # the group went with the sandbox; that it died is told by its channel

    async def _send(self, request: Spawn, fds: tuple[int, ...]) -> None:
        for _ in range(int(END_WAIT / RETRY)):
            try:
                return self._parts.link.send(request, fds)
            except BlockingIOError:
                await asyncio.sleep(RETRY)
        raise SandboxLost("the sandbox takes no more requests")

    def _ask(self, request: Open | Uppers | Purge) -> list[int]:
        """Ask pid 1 for open files. Blocks.

        Raises:
            SandboxLost: It does not answer.
            OSError: It says why not.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours:
            with theirs:
                self._parts.link.send_when_free(request, (theirs.fileno(),))
            ours.settimeout(REPLY_WAIT)
            try:
                answer, fds, _, _ = socket.recv_fds(ours, 8192, 64)
            except OSError as error:
                raise SandboxLost(f"the sandbox does not answer: {error}") from error
        for fd in fds:
            os.set_inheritable(fd, False)
        words = answer.decode("utf-8", "replace").split(" ", 2)
        if words[0] == "ok":
            return fds
        for fd in fds:
            os.close(fd)
        if words[0] == "error":
            raise OSError(int(words[1]), words[2])
        raise SandboxLost("the sandbox died while a file was asked for")

    def _read(self, path: str, limit: int) -> bytes:
        try:
            (fd,) = self._ask(("open", path, -1))
        except OSError as error:
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
        (fd,) = self._ask(("open", path, mode))
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
        except OSError:
            os.ftruncate(fd, 0)  # give the room back: half a file is of no use
            raise
        finally:
            os.close(fd)
