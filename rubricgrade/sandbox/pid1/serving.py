"""Serves the host: starts and ends commands, opens files, collects the dead, watches memory and the time to live.

The single tie to the host is a socket: when that closes, pid 1 exits, and the kernel ends everything else in here.
Replies are short plain text, because the host trusts nothing that comes out.
"""

import _socket
import marshal
import os
import select
import sys
import time

from .confining import confine
from .processes import end_all, end_tree, execute, largest, living, prepare, signal_all
from .system import EAGAIN, EIO, EMFILE, ENFILE, ENOENT, open_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable

    from rubricgrade.sandbox.wire import Config, Request
else:
    import _signal as signal

NO_ROOM = (EAGAIN, EMFILE, ENFILE)
"""Why a program can't be started whatever it is."""
MEMORY_POLL = 0.025
"""Seconds between two looks at the memory in use, where no control group holds the limit."""


def ignore(number: int, frame: object) -> None:
    """Handle a signal: only the byte that it leaves in the wake pipe matters."""


class Command:
    """A running command: its process, and the socket of the one who asked.

    Attributes:
        oom: Memory ran out while it ran.
        ending: It was killed on request, and its socket is no longer polled.
    """

    def __init__(self, pid: int, channel: _socket.socket) -> None:
        self.pid = pid
        self.channel = channel
        self.oom = False
        self.ending = False


def reply(channel: _socket.socket, text: str, fds: tuple[int, ...] = ()) -> None:
    """Answer a request; the asker may have gone."""
    packed = b"".join(fd.to_bytes(4, sys.byteorder) for fd in fds)  # `array` imports half the library
    rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, packed)] if fds else []
    try:
        channel.sendmsg([text.encode("utf-8", "replace")[:4096]], rights)
    except OSError:
        return


class Server:
    """Answers the host's requests, collects the dead, and watches memory and the time to live."""

    def __init__(self, host: _socket.socket, config: "Config", groups: list[int], uppers: list[int]) -> None:
        self.host = host
        self.uppers = uppers
        self.groups = groups
        self.limits = config["limits"]
        self.memory = config["watch"]
        self.until = time.monotonic() + config["lifetime"]
        self.null = os.open("/dev/null", os.O_RDWR)
        self.commands: dict[int, Command] = {}
        self.poll = select.poll()
        self.poll.register(host.fileno(), select.POLLIN)
        self.wake, waker = os.pipe()
        for fd in (self.wake, waker):
            os.set_blocking(fd, False)
        self.poll.register(self.wake, select.POLLIN)
        signal.set_wakeup_fd(waker)
        signal.signal(signal.SIGCHLD, ignore)

    def serve(self) -> None:
        """Run until the host has gone or the time to live is over."""
        while (left := self.until - time.monotonic()) > 0:
            watching = self.memory and (self.commands or living())
            for fd, _ in self.poll.poll((min(left, MEMORY_POLL) if watching else min(left, 3600.0)) * 1000):
                if fd == self.host.fileno():
                    if not self.accept():
                        return
                elif fd == self.wake:
                    os.read(fd, 4096)
                elif fd in self.commands:
                    # The asker wants it ended (or has gone, which means the same).
                    self.poll.unregister(fd)
                    self.commands[fd].ending = True
                    end_tree(self.commands[fd].pid)
            if watching:
                self.look_at_memory()
            self.collect()

    def accept(self) -> bool:
        """Take one request; False when the host has gone."""
        data, ancillary, _, _ = self.host.recvmsg(1 << 20, 1024, _socket.MSG_CMSG_CLOEXEC)
        if not data:
            return False
        fds = received(ancillary)
        channel = _socket.socket(fileno=fds[0])
        try:
            self.answer(channel, marshal.loads(data), fds[1:])  # noqa: S302  # from the host, our only master
        except OSError as error:
            reply(channel, f"error {error.errno or EIO} {error.strerror}")
        except ValueError as error:  # a NUL or half a surrogate pair in a path
            reply(channel, f"error {ENOENT} no such path: {error}")
        finally:
            for fd in fds[1:]:
                os.close(fd)
        return True

    def answer(self, channel: _socket.socket, request: "Request", fds: list[int]) -> None:
        """Do what a request says."""
        if request[0] == "spawn":
            self.spawn(channel, request[1], request[2], request[3], fds)
        elif request[0] == "open":
            fd = open_file(request[1], request[2])
            reply(channel, "ok", (fd,))
            os.close(fd)
        elif request[0] == "uppers":
            reply(channel, "ok", tuple(self.uppers))
        elif request[0] == "listen":
            listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
            listener.bind(("127.0.0.1", request[1]))
            listener.listen(128)
            reply(channel, "ok", (listener.fileno(),))
            listener.close()
        else:
            end_all()
            reply(channel, "ok")

    def spawn(
        self, channel: _socket.socket, argv: list[str], environment: dict[str, str], folder: str, fds: list[int]
    ) -> None:
        """Start a command; without a third stream its standard input is empty."""
        streams = [self.null, *fds][-3:]
        try:
            pid = os.fork()
        except OSError as error:  # nothing of the command has run, so that this is no failure of its own
            reply(channel, f"lost for want of room for a process: {error.strerror}")
            return
        if not pid:
            try:
                reply(channel, become(argv, environment, folder, lambda: prepare(streams, self.groups, self.limits)))
            finally:
                os._exit(127)
        self.commands[channel.fileno()] = Command(pid, channel)
        self.poll.register(channel.fileno(), select.POLLIN)

    def collect(self) -> None:
        """Reap whoever has ended, and say so to those who asked for it."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            for fd, command in list(self.commands.items()):
                if command.pid == pid:
                    code = os.waitstatus_to_exitcode(status)
                    reply(command.channel, f"exit {code if code >= 0 else 128 - code} {int(command.oom)}")
                    if not command.ending:
                        self.poll.unregister(fd)
                    del self.commands[fd]
                    command.channel.close()

    def look_at_memory(self) -> None:
        """Kill the largest processes while all together hold more private memory than allowed."""
        victims = largest(self.memory)
        signal_all(victims, signal.SIGKILL)
        for command in self.commands.values():
            command.oom = command.oom or bool(victims)


def become(argv: list[str], environment: dict[str, str], folder: str, prepare: "Callable[[], None]") -> str:
    """Turn this forked child into a command; returns what to say if it fails: ``error`` if by itself."""
    try:
        prepare()
        try:
            os.chdir(folder)
            execute(argv, environment)
        except OSError as error:
            if error.errno not in NO_ROOM:
                return f"error {error.errno or EIO} {error.strerror}"
            raise
        except ValueError as error:  # a NUL or half a surrogate pair
            return f"error {ENOENT} no such path: {error}"
    except BaseException as error:  # noqa: BLE001  # a bug of ours must not look like the command's failure
        return f"lost {error!r}"
    return "lost"


def received(ancillary: "list[tuple[int, int, bytes]]") -> list[int]:
    """The open files that came with a message."""
    fds: list[int] = []
    for _, _, payload in ancillary:
        fds.extend(memoryview(payload).cast("i"))
    return fds


def main(number: int) -> None:
    """Take the configuration from an open socket, confine this process, say so, and serve."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # as pid 1 it is then immune; Python's own handler would raise
    os.umask(0o022)
    os.closerange(3, number)  # bubblewrap hands down whatever it was given, a namespace for one
    os.closerange(number + 1, 1 << 16)
    host = _socket.socket(fileno=number)
    os.set_inheritable(host.fileno(), False)
    data, ancillary, _, _ = host.recvmsg(1 << 20, 1024, _socket.MSG_CMSG_CLOEXEC)
    if not data:
        return
    config = marshal.loads(data)  # noqa: S302  # comes from the host, our only master

    def seed(uppers: tuple[int, ...]) -> None:
        reply(host, "seed", uppers)
        if not host.recv(16):
            os._exit(0)

    try:
        server = Server(host, config, received(ancillary), confine(config, seed))
    except OSError as error:
        reply(host, f"error {error.errno} {error.strerror} {error.filename or ''}")
        return
    for stream in range(3):
        os.dup2(server.null, stream)
    reply(host, "ready")
    server.serve()
    os._exit(0)  # the interpreter would tidy up for a millisecond
