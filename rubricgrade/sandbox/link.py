"""The tie to one running sandbox: sends requests to its pid 1, and ends it."""

from __future__ import annotations

import array
import asyncio
import contextlib
import functools
import marshal
import os
import select
import signal
import socket
import subprocess
import threading
import time
import weakref
from dataclasses import dataclass, field

from rubricgrade.errors import SandboxLost
from rubricgrade.sandbox import failing
from rubricgrade.sandbox.wire import MESSAGE_LIMIT, Request

END_WAIT = 10.0
"""Seconds that pid 1 gets for going by itself, and for taking a request."""
REPLY_WAIT = 30.0
"""Seconds in which pid 1 must answer a request for a file."""
LAST_WORD = 1.0
"""Seconds in which bubblewrap must tell how a sandbox that has died has ended."""
RETRY = 0.002
"""Seconds between two tries to send to a busy pid 1."""


@dataclass(eq=False)
class Link:
    """The tie to one running sandbox: the socket of its pid 1, and bubblewrap, which reaps that.

    Attributes:
        socket: Our end. Shutting it down ends the sandbox.
        process: bubblewrap. When it has ended, pid 1 has been reaped, so every process of the sandbox is gone.
        pid1: A handle on pid 1, for the case that it should hang.
        owner: The process that made it; in any other, which can only be a fork of it, it is dead.
        ended: It takes no more requests.
        reaped: Nothing of it is left.
    """

    socket: socket.socket
    process: subprocess.Popen[bytes]
    pid1: int
    owner: int = field(default_factory=os.getpid)
    ended: bool = False
    reaped: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        _open_links.add(self)
        _forget_after_fork()

    def send(self, request: Request, fds: tuple[int, ...]) -> None:
        """Send one request; the files given are copied.

        Raises:
            SandboxLost: pid 1 has gone.
            BlockingIOError: pid 1 is busy; try again.
            ValueError: The request is too large.
        """
        data = marshal.dumps(request)
        if len(data) > MESSAGE_LIMIT:
            raise ValueError(f"arguments and environment take {len(data)} bytes; at most {MESSAGE_LIMIT} are allowed")
        if self.ended or self.owner != os.getpid():
            raise SandboxLost(
                "the sandbox is closed" if self.owner == os.getpid() else "the sandbox is another process's"
            )
        try:
            self.socket.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
        except BlockingIOError:
            raise
        except OSError as error:
            raise self.lost(f"the sandbox has ended: {error.strerror}") from error

    def send_when_free(self, request: Request, fds: tuple[int, ...]) -> None:
        """Send from a worker thread, waiting while pid 1 is busy; otherwise as `send`."""
        until = time.monotonic() + END_WAIT
        while True:
            try:
                return self.send(request, fds)
            except BlockingIOError:
                if time.monotonic() > until:
                    raise SandboxLost("the sandbox takes no more requests") from None
                time.sleep(RETRY)

    def ask(self, request: Request) -> list[int]:
        """Ask pid 1 for open files. Blocks.

        Raises:
            SandboxLost: It does not answer.
            OSError: It says why not.
        """
        with failing.lost():
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours:
            with theirs:
                self.send_when_free(request, (theirs.fileno(),))
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
        raise self.lost("the sandbox died while a file was asked for")

    def lost(self, message: str) -> SandboxLost:
        """What to raise for a sandbox that has died without being told to.

        Nothing inside can send a signal to its pid 1: if one has ended it, it came from the host.
        """
        code: int | None = None
        if not self.ended:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = self.process.wait(LAST_WORD)  # bubblewrap ends with it, and tells how it did
        killed = code in {-signal.SIGKILL, 128 + signal.SIGKILL}
        return SandboxLost(f"{message}: it was killed from outside" if killed else message, by_host=killed)

    def shut(self) -> None:
        """Tell pid 1 to end, which ends all of the sandbox. Returns at once; `end` must follow."""
        if not self.ended and self.owner == os.getpid():
            self.ended = True
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)  # works even if a fork still holds a copy of it

    async def gone(self) -> None:
        """Wait, without blocking the event loop, until `end` would return at once (or it takes too long)."""
        try:
            handle = os.pidfd_open(self.process.pid)
        except ProcessLookupError:
            return  # somebody else has waited for it
        try:
            await readable(handle, END_WAIT)
        finally:
            os.close(handle)

    def end(self) -> bool:
        """End the sandbox; returns when all its processes are dead and reaped. Blocks for some milliseconds.

        Returns:
            Whether this call is the one that has ended it.

        Raises:
            SandboxLost: It can't be ended: a process of it hangs in the kernel. What it held is left for `reap`.
        """
        self.shut()
        with self.lock:
            if self.reaped or self.owner != os.getpid():
                return False
            # pid 1 of a namespace is told to have ended only after everything else in it has, and was reaped.
            if not self._gone():
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(self.pid1, signal.SIGKILL)
                if not self._gone():
                    raise SandboxLost("the sandbox does not end, even when killed")
            self.process.wait()
            self.reaped = True
            self.socket.close()
            os.close(self.pid1)
            return True

    def _gone(self) -> bool:
        """Whether pid 1 ends in time."""
        poll = select.poll()
        poll.register(self.pid1, select.POLLIN)
        return bool(poll.poll(END_WAIT * 1000))

    def disown(self) -> None:
        """After a fork, in the child: close our copies without touching the parent's sandbox."""
        self.ended = self.reaped = True
        self.socket.close()
        os.close(self.pid1)


_open_links: weakref.WeakSet[Link] = weakref.WeakSet()


@functools.cache
def _forget_after_fork() -> None:
    """Have every later fork let go of the sandboxes, so that they end with their owner and not with its last child."""

    def disown_all() -> None:
        for link in list(_open_links):
            if not link.reaped:
                link.disown()

    os.register_at_fork(after_in_child=disown_all)


async def readable(fd: int, seconds: float) -> bool:
    """Wait until an open file has something to say: whether it has, in so many seconds."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(fd, lambda: ready.done() or ready.set_result(None))
    try:
        await asyncio.wait({ready}, timeout=seconds)
        return ready.done()
    finally:
        loop.remove_reader(fd)
