"""One command in a sandbox, seen from the host: its pipes, its limits, its end, and what is kept of its output."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from rubricgrade.errors import SandboxLost
from rubricgrade.sandbox.contract import Done, MiB

FLOOD = 64
"""A command that writes more than so many times its limit is killed."""
CHUNK = 1 << 16
DRAIN = MiB
"""Bytes still read from a pipe after its command has ended: as many as a pipe can hold."""
KILL_WAIT = 15.0
"""Seconds in which a kill must succeed; a sandbox that takes longer is given up."""


class Capture:
    """The head and the tail of a stream, within `limit` bytes together.

    Attributes:
        total: Bytes fed in all.
    """

    def __init__(self, limit: int) -> None:
        self.total = 0
        self._limit = limit
        self._tail_size = limit // 2
        self._head = bytearray()
        self._tail = bytearray()

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self.total += len(data)
        room = self._limit - self._tail_size - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if len(self._tail) > 2 * self._tail_size + CHUNK:
            del self._tail[: len(self._tail) - self._tail_size]

    def result(self) -> bytes:
        """What is kept."""
        return bytes(self._head + self._tail[max(0, len(self._tail) - self._tail_size) :])


@dataclass(frozen=True, slots=True)
class Streams:
    """Our ends of a command's pipes, all non-blocking.

    Attributes:
        channel: Where pid 1 reports; half-closing it asks for the end of the command.
        stdin: -1 when it has none.
        stdout: Its standard output.
        stderr: Its standard error.
    """

    channel: socket.socket
    stdin: int
    stdout: int
    stderr: int


@dataclass(frozen=True, slots=True)
class _Ending:
    code: int
    oom: bool
    full: bool
    error: str
    seconds: float


class Command:
    """A running command (`contract.Process`). Belongs to the event loop that started it."""

    def __init__(
        self,
        streams: Streams,
        *,
        timeout: float,
        limit: int,
        oom: Callable[[], bool],
        full: Callable[[], bool],
        spoiled: Callable[[], str],
        lost: Callable[[str], SandboxLost],
        give_up: Callable[[], None],
    ) -> None:
        """Watch a command that pid 1 was just asked to start.

        Args:
            streams: Its pipes; closed when it has ended.
            timeout: Seconds until it is killed.
            limit: Bytes kept of each stream.
            oom: Tells whether a process of the sandbox was killed for memory since the command started.
            full: Tells whether the sandbox was emptied of processes for filling its disk since then.
            spoiled: Tells what the host has failed the sandbox in since the command started; empty if in nothing. What
                a command says after that is no more than that something was missing.
            lost: Makes the error for a sandbox that has died.
            give_up: Ends the whole sandbox, for when a kill does not succeed.
        """
        self._streams = streams
        self._stdin = streams.stdin
        self._limit = limit
        self._oom = oom
        self._full = full
        self._spoiled = spoiled
        self._lost = lost
        self._give_up = give_up
        self._started = time.monotonic()
        self._killed: Literal["", "time", "flood", "asked"] = ""
        self._out, self._err = Capture(limit), Capture(limit)
        self._talking = False
        self._lines = bytearray()
        self._room = CHUNK
        self._loop = asyncio.get_running_loop()
        self._over: asyncio.Future[_Ending] = self._loop.create_future()
        self._changed = asyncio.Event()
        self._open = {streams.stdout, streams.stderr}
        self._reading: set[int] = set()
        self._watch(streams.stdout)
        self._watch(streams.stderr)
        self._loop.add_reader(streams.channel, self._report)
        self._timer = self._loop.call_later(timeout, self._end, "time")

    # --- The conversation ---------------------------------------------------------------------------------------

    async def send(self, data: bytes) -> None:
        """See `contract.Process.send`."""
        view = memoryview(data)
        while view:
            if self._stdin < 0 or self._over.done():
                raise BrokenPipeError("the command takes no more input")
            try:
                view = view[os.write(self._stdin, view) :]
            except BlockingIOError:
                await self._writable()

    async def receive(self, limit: int = MiB) -> bytes:
        """See `contract.Process.receive`."""
        self._talk()
        searched = 0
        while True:
            end = self._lines.find(b"\n", searched)
            if end < 0 and (self._over.done() or self._streams.stdout not in self._open):
                self._raise_if_lost()
                end = len(self._lines) - 1
                if len(self._lines) <= limit:
                    return self._take(end + 1)
            if 0 <= end < limit:
                if why := self._spoiled():
                    raise SandboxLost(why, by_host=True)
                return self._take(end + 1)
            if len(self._lines) > limit or end >= limit:
                await self.kill()
                raise ValueError(f"a line of more than {limit} bytes")
            searched = len(self._lines)
            self._room = limit + 1
            self._changed.clear()
            self._watch(self._streams.stdout)
            await self._changed.wait()

    async def finish(self) -> Done:
        """See `contract.Process.finish`."""
        self._close_stdin()
        return await self.wait()

    async def wait(self) -> Done:
        """Wait for its end with its input left as it is."""
        self._stop_talking()
        try:
            ending = await asyncio.shield(self._over)
        except asyncio.CancelledError:
            self._end("asked")
            raise
        return Done(
            ending.code,
            self._out.result(),
            self._err.result(),
            self._out.total,
            self._err.total,
            ending.seconds,
            timed_out=self._killed == "time",
            flooded=self._killed == "flood",
            oom=ending.oom,
            full=ending.full,
            error=ending.error,
        )

    async def kill(self) -> None:
        """See `contract.Process.kill`."""
        self._end("asked")
        with contextlib.suppress(SandboxLost):
            await asyncio.shield(self._over)

    async def feed(self, data: bytes) -> None:
        """Write all of its standard input, as far as it wants it, and close that."""
        with contextlib.suppress(BrokenPipeError):
            await self.send(data)
        self._close_stdin()

    # --- Standard output: captured, or kept as lines while somebody converses --------------------------------------

    def _talk(self) -> None:
        if not self._talking:
            self._talking = True
            self._lines += self._out.result()
            self._out = Capture(self._limit)

    def _stop_talking(self) -> None:
        self._talking = False
        self._out.feed(bytes(self._lines))
        self._lines.clear()
        if not self._over.done():
            self._watch(self._streams.stdout)

    def _take(self, size: int) -> bytes:
        line = bytes(self._lines[:size])
        del self._lines[:size]
        return line

    def _watch(self, fd: int) -> None:
        if fd in self._open and fd not in self._reading:
            self._reading.add(fd)
            self._loop.add_reader(fd, self._read, fd)

    def _unwatch(self, fd: int) -> None:
        if fd in self._reading:
            self._reading.discard(fd)
            self._loop.remove_reader(fd)

    def _read(self, fd: int) -> bool:
        """Take what a pipe holds; True when there may be more."""
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._unwatch(fd)
            self._open.discard(fd)
            self._changed.set()
            return False
        capture = self._err if fd == self._streams.stderr else self._out
        if fd == self._streams.stdout and self._talking:
            self._lines += data
            if len(self._lines) >= self._room:
                self._unwatch(fd)  # the command waits until somebody listens
            self._changed.set()
        else:
            capture.feed(data)
            if capture.total > FLOOD * self._limit:
                self._end("flood")
        return True

    # --- The end ----------------------------------------------------------------------------------------------------

    def _end(self, why: Literal["time", "flood", "asked"]) -> None:
        """Have pid 1 kill the command with everything below it."""
        if self._killed or self._over.done():
            return
        self._killed = why
        self._timer.cancel()
        with contextlib.suppress(OSError):
            self._streams.channel.shutdown(socket.SHUT_WR)
        self._timer = self._loop.call_later(KILL_WAIT, self._give_up)

    def _report(self) -> None:
        """Hear from pid 1 that the command has ended, or that pid 1 has."""
        try:
            words = self._streams.channel.recv(8192).decode("utf-8", "replace").split(" ", 2)
        except BlockingIOError:
            return
        except ConnectionError:
            words = [""]
        if self._over.done():
            return
        if words[0] == "exit" and (why := self._spoiled()):
            self._settle(SandboxLost(why, by_host=True))
        elif words[0] == "exit":
            self._drain()
            self._settle(_Ending(int(words[1]), words[2] == "1" or self._oom(), self._full(), "", self._seconds()))
        elif words[0] == "error":
            self._settle(_Ending(-1, False, False, words[2], self._seconds()))
        else:
            said = " ".join(words[1:])
            message = f"the sandbox died while a command ran in it {said}".rstrip()
            self._settle(SandboxLost(message) if said else self._lost(message))

    def _drain(self) -> None:
        """Take what the command wrote before its end. Its children may hold the pipes, and write, for ever."""
        self._room = len(self._lines) + DRAIN + CHUNK
        for fd in tuple(self._open):
            left = DRAIN
            while left > 0 and self._read(fd):
                left -= CHUNK

    def _seconds(self) -> float:
        return time.monotonic() - self._started

    def _settle(self, how: _Ending | SandboxLost) -> None:
        """Give up everything that the command held, and tell whoever waits."""
        self._timer.cancel()
        for fd in (self._streams.stdout, self._streams.stderr):
            self._unwatch(fd)
            os.close(fd)
        self._open.clear()
        self._loop.remove_reader(self._streams.channel)
        self._streams.channel.close()
        self._close_stdin()
        if isinstance(how, SandboxLost):
            self._over.set_exception(how)
            self._over.exception()  # heard, even if nobody ever asks
        else:
            self._over.set_result(how)
        self._changed.set()

    def _close_stdin(self) -> None:
        if self._stdin >= 0:
            self._loop.remove_writer(self._stdin)
            os.close(self._stdin)
            self._stdin = -1
            self._changed.set()

    def _raise_if_lost(self) -> None:
        if self._over.done() and (error := self._over.exception()):
            raise error

    async def _writable(self) -> None:
        """Wait until its standard input takes more, or it has ended."""
        ready: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_writer(self._stdin, lambda: ready.done() or ready.set_result(None))
        try:
            await asyncio.wait({ready, self._over}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if self._stdin >= 0:
                self._loop.remove_writer(self._stdin)
