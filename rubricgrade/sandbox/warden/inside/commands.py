"""One command that runs here: its pipes, what is kept of its output, its end."""

import base64
import errno
import os
import signal
import time
from typing import Any

from rubricgrade.sandbox.pid1.processes import end_tree, execute, prepare
from rubricgrade.sandbox.pid1.system import libc, write_text

FLOOD = 64
"""A command that writes more than so many times its limit is killed."""
CHUNK = 1 << 16
DRAIN = 1 << 20
"""Bytes still read from a pipe after its command has ended: as many as a pipe can hold."""
PR_SET_DUMPABLE = 4
MOST_FILES = 1 << 16
WAITING = 1 << 20
"""Bytes of input that may wait for a command to take them."""


def encode(data: bytes) -> str:
    """Bytes as text for a message."""
    return base64.b64encode(data).decode()


class Kept:
    """The head and the tail of a stream, within `limit` bytes together."""

    def __init__(self, limit: int) -> None:
        self.total = 0
        self.head = bytearray()
        self.tail = bytearray()
        self.limit = limit

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self.total += len(data)
        behind = self.limit // 2
        room = self.limit - behind - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        self.tail += data
        if len(self.tail) > behind + CHUNK:
            del self.tail[: len(self.tail) - behind]

    def result(self) -> bytes:
        """What is kept."""
        return bytes(self.head + self.tail[max(0, len(self.tail) - self.limit // 2) :])


class Command:
    """A running command.

    Attributes:
        pid: Its process, the root of its tree.
        until: When it is killed, by `time.monotonic`.
        code: How it ended; None as long as it runs.
        why: Why we killed it: ``time``, ``flood``, ``full``, ``asked``; empty when we did not.
        oom: Memory ran out while it ran.
        kills: The kernel's count of such kills when it began.
    """

    def __init__(self, pid: int, streams: tuple[int, int, int], *, until: float, limit: int, kills: int) -> None:
        self.pid = pid
        self.stdin, self.stdout, self.stderr = streams
        self.until = until
        self.began = time.monotonic()
        self.seconds = 0.0
        self.code: int | None = None
        self.why = ""
        self.oom = False
        self.kills = kills
        self.out, self.err = Kept(limit), Kept(limit)
        self.talking = False
        self.lines = bytearray()
        self.room = CHUNK
        self.input = bytearray()
        self.closing = False
        for fd in streams:
            if fd >= 0:
                os.set_blocking(fd, False)

    def readable(self) -> list[int]:
        """Pipes that are to be read now. A command in a conversation waits until somebody listens."""
        full = self.talking and len(self.lines) >= self.room
        return [fd for fd in (-1 if full else self.stdout, self.stderr) if fd >= 0]

    def writable(self) -> list[int]:
        """Its input, when something waits for it."""
        return [self.stdin] if self.stdin >= 0 and self.input else []

    def read(self, fd: int) -> bool:
        """Take what a pipe holds; True when there may be more."""
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self.close(fd)
            return False
        if fd == self.stdout and self.talking:
            self.lines += data
            return True
        kept = self.out if fd == self.stdout else self.err
        kept.feed(data)
        if kept.total > FLOOD * kept.limit:
            self.end("flood")
        return True

    def write(self) -> None:
        """Hand on what waits for its input."""
        try:
            del self.input[: os.write(self.stdin, self.input)]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self.close(self.stdin)
        if self.closing and not self.input:
            self.close(self.stdin)

    def take(self, data: bytes) -> str:
        """Queue input: ``ok``, ``full`` when too much waits already, or ``broken``."""
        if self.stdin < 0 or self.closing or self.code is not None:
            return "broken"
        if len(self.input) >= WAITING:
            return "full"
        self.input += data
        return "ok"

    def close_input(self) -> None:
        """Close its input once everything that waits was taken."""
        self.closing = True
        if not self.input:
            self.close(self.stdin)

    def talk(self) -> None:
        """Keep its output as lines from now on."""
        if not self.talking:
            self.talking = True
            self.lines += self.out.result()
            self.out = Kept(self.out.limit)

    def hush(self) -> None:
        """End the conversation: what nobody has taken is output like any other."""
        self.talking = False
        self.out.feed(bytes(self.lines))
        self.lines.clear()

    def line(self, limit: int) -> "dict[str, Any] | None":
        """The next line; None as long as it is not complete."""
        self.talk()
        end = self.lines.find(b"\n", 0, limit)
        if end < 0 and (len(self.lines) > limit or b"\n" in self.lines):
            self.end("asked")
            return {"long": True}
        if end < 0 and self.stdout >= 0:
            self.room = max(self.room, limit + 1)
            return None
        size = end + 1 if end >= 0 else len(self.lines)
        taken = encode(bytes(self.lines[:size]))
        del self.lines[:size]
        return {"line": taken}

    def end(self, why: str) -> None:
        """Kill it with everything below it."""
        if self.code is None and not self.why:
            self.why = why
            end_tree(self.pid)

    def settle(self, code: int) -> None:
        """Take what it wrote before its end, and give up its pipes. Its children may hold them for ever."""
        self.seconds = time.monotonic() - self.began
        if self.why == "full":
            code = -signal.SIGKILL  # even if it has ended before we came
        self.code = code if code >= 0 else 128 - code
        for fd in (self.stdout, self.stderr):
            left = DRAIN
            while fd >= 0 and left > 0 and self.read(fd):
                left -= CHUNK
        for fd in (self.stdin, self.stdout, self.stderr):
            self.close(fd)

    def close(self, fd: int) -> None:
        """Close one of its pipes."""
        if fd < 0:
            return
        os.close(fd)
        self.stdin, self.stdout, self.stderr = (
            -1 if own == fd else own for own in (self.stdin, self.stdout, self.stderr)
        )

    def done(self) -> "dict[str, Any]":
        """How it ended, once it has."""
        self.hush()
        return {
            "code": self.code,
            "stdout": encode(self.out.result()),
            "stderr": encode(self.err.result()),
            "stdout_total": self.out.total,
            "stderr_total": self.err.total,
            "seconds": self.seconds,
            "timed_out": self.why == "time",
            "flooded": self.why == "flood",
            "oom": self.oom,
            "full": self.why == "full",
        }


def start(
    argv: list[str], environment: dict[str, str], folder: str, limits: list[tuple[int, int]], *, talk: bool
) -> tuple[int, tuple[int, int, int]]:
    """Start a command; returns its process and our ends of its pipes (-1 for an input that it has not).

    Raises:
        OSError: It can't be started.
    """
    said, told = os.pipe()
    stdin, ours = os.pipe() if talk else (os.open(os.devnull, os.O_RDONLY), -1)
    stdout, their_out = os.pipe()
    stderr, their_err = os.pipe()
    theirs = (told, stdin, their_out, their_err)
    own = [fd for fd in (ours, stdout, stderr) if fd >= 0]
    try:
        pid = os.fork()
    except OSError:
        for fd in (said, *theirs, *own):
            os.close(fd)
        raise
    if not pid:
        try:
            signal.set_wakeup_fd(-1)
            for number, fd in enumerate((stdin, their_out, their_err)):
                os.dup2(fd, number)
            os.closerange(3, told)
            os.closerange(told + 1, MOST_FILES)
            # Without a handle of the warden's left, it may be looked at by others; else it can't do what follows.
            libc("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0)
            write_text("/proc/self/oom_score_adj", "1000")  # whoever runs out of memory, it is not the warden
            prepare([0, 1, 2], [], limits)
            os.chdir(folder)
            execute(argv, environment)
        except OSError as error:
            os.write(told, f"{error.errno or errno.EIO} {error.strerror}".encode())
        finally:
            os._exit(127)
    for fd in theirs:
        os.close(fd)
    with open(said, "rb") as report:  # noqa: PTH123  # an open file, not a path; ends when the program has begun
        number, _, text = report.read(4096).decode("utf-8", "replace").partition(" ")
    if number:
        os.waitpid(pid, 0)
        for fd in own:
            os.close(fd)
        raise OSError(int(number), text)
    return pid, (ours, stdout, stderr)
