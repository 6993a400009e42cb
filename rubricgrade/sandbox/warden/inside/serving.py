"""The warden: answers the host's requests one by one, keeps the limits that the outside does not, collects the dead.

A request is one line of JSON, and so is its answer. Whoever has to wait longer than he wanted is told ``pending`` and
asks again, so that this works over a pipe and over somebody's command service alike.
"""

import base64
import contextlib
import json
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

from rubricgrade.sandbox.pid1.system import libc, open_file
from rubricgrade.sandbox.quota import usage
from rubricgrade.sandbox.warden.inside.commands import Command, encode, start
from rubricgrade.sandbox.warden.inside.files import Item, Maker, Mark, changes, marks
from rubricgrade.sandbox.warden.inside.memory import kernel_kills, largest_below_us, memory_group

Answer = dict[str, Any]
Later = Callable[[], "Answer | None"]
"""An answer that may not be there yet."""
PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 4, 36, 38
LISTEN = 64
PERIOD = 0.2
"""Seconds between two looks at the disk, at least."""
POLL = 0.025
"""Seconds between two looks at the memory."""
SHARE = 0.05
"""Part of the time that may go into looking at the disk."""


class Warden:
    """Everything that this process knows.

    Attributes:
        orders: What the host wants; see `bundle.Orders`.
        commands: By number; kept until somebody has asked how it ended.
        handles: Things read or made in several pieces, by number.
        marks: How the places were when the host said so.
        seen: Bytes and files in the places when they were first over the limit; None while they are not.
        waiting: (try again, answer, when to give up) of whoever waits.
    """

    def __init__(self, orders: dict[str, Any]) -> None:
        self.orders = orders
        self.commands: dict[int, Command] = {}
        self.handles: dict[int, int | Maker | Iterator[Item]] = {}
        self.marks: dict[str, dict[str, Mark]] = {}
        self.number = 0
        self.waiting: list[tuple[Later, Callable[[Answer], None], float]] = []
        self.until = time.monotonic() + orders["lifetime"]
        self.next_look = 0.0
        self.seen: tuple[int, int] | None = None

    # --- Requests -----------------------------------------------------------------------------------------------

    def ask(self, request: dict[str, Any], answer: Callable[[Answer], None]) -> None:
        """Take one request; `answer` is called once, now or later."""
        do: Callable[[dict[str, Any]], Answer | Later] = getattr(self, f"do_{request['do']}")
        said: Answer | Later
        try:
            said = do(request)
        except OSError as error:
            said = {"errno": error.errno or 5, "error": error.strerror or str(error)}
        if callable(said):
            self.waiting.append((said, answer, time.monotonic() + request["within"]))
        else:
            answer(said)

    def do_hello(self, _: dict[str, Any]) -> Answer:
        """Say what this place is like."""
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:  # noqa: PTH123
            seccomp = any(line.split() == ["Seccomp:", "2"] for line in file)
        with open("/proc/self/uid_map", encoding="ascii") as file:  # noqa: PTH123
            ranges = [[int(word) for word in line.split()] for line in file]
        return {
            "path": os.environ.get("PATH", ""),
            "uid": os.getuid(),
            "uid_map": ranges,
            "seccomp": seccomp,
            "group": memory_group(),
        }

    def do_spawn(self, request: dict[str, Any]) -> Answer:
        """Start a command."""
        kills = kernel_kills()
        pid, streams = start(
            request["argv"], request["env"], request["cwd"], self.orders["limits"], talk=request["talk"]
        )
        until = time.monotonic() + request["timeout"]
        command = Command(pid, streams, until=until, limit=request["limit"], kills=kills)
        return {"id": self.keep(self.commands, command)}

    def do_wait(self, request: dict[str, Any]) -> Later:
        """Wait for the end of a command, and forget it."""
        command = self.commands[request["id"]]

        def ended() -> Answer | None:
            if command.code is None:
                return None
            self.commands.pop(request["id"], None)
            return command.done()

        command.hush()
        return ended

    def do_line(self, request: dict[str, Any]) -> Later:
        """Wait for the next line of a command's output."""
        command = self.commands.get(request["id"])
        return lambda: command.line(request["limit"]) if command else {"line": ""}

    def do_send(self, request: dict[str, Any]) -> Answer:
        """Queue input of a command."""
        command = self.commands.get(request["id"])  # it may have ended, and that may have been told already
        return {"taken": command.take(base64.b64decode(request["data"])) if command else "broken"}

    def do_shut(self, request: dict[str, Any]) -> Answer:
        """Close a command's input."""
        if request["id"] in self.commands:
            self.commands[request["id"]].close_input()
        return {}

    def do_kill(self, request: dict[str, Any]) -> Answer:
        """End a command with everything below it."""
        if request["id"] in self.commands:
            self.commands[request["id"]].end("asked")
        return {}

    def do_open(self, request: dict[str, Any]) -> Answer:
        """Open a file, to read it or (with a mode) to write it."""
        handle = open_file(request["path"], request["mode"])
        return {"handle": self.keep(self.handles, handle), "size": os.fstat(handle).st_size}

    def do_pull(self, request: dict[str, Any]) -> Answer:
        """The next piece of an open file."""
        handle = self.handles[request["handle"]]
        return {"data": encode(os.read(handle, request["size"]))} if isinstance(handle, int) else {}

    def do_push(self, request: dict[str, Any]) -> Answer:
        """Append to an open file; half a file is of no use, so what does not fit is given back whole."""
        handle = self.handles[request["handle"]]
        data = base64.b64decode(request["data"])
        if not isinstance(handle, int):
            return {}
        try:
            while data:
                data = data[os.write(handle, data) :]
        except OSError:
            os.ftruncate(handle, 0)
            raise
        return {}

    def do_drop(self, request: dict[str, Any]) -> Answer:
        """Let go of a handle; a tree that was made gets its last touch."""
        handle = self.handles.pop(request["handle"])
        if isinstance(handle, int):
            os.close(handle)
        elif isinstance(handle, Maker):
            handle.finish()
        return {}

    def do_make(self, request: dict[str, Any]) -> Answer:
        """Begin to make entries below a place."""
        return {"handle": self.keep(self.handles, Maker(request["place"], frozen=request["frozen"]))}

    def do_add(self, request: dict[str, Any]) -> Answer:
        """Make the next entries."""
        maker = self.handles[request["handle"]]
        if isinstance(maker, Maker):
            for item in request["items"]:
                maker.add(item)
        return {}

    def do_mark(self, _: dict[str, Any]) -> Answer:
        """Remember how all places are: `changes` are told from here."""
        self.marks = {place: marks(place) for place in self.orders["places"]}
        return {}

    def do_changes(self, request: dict[str, Any]) -> Answer:
        """Begin to tell what has changed in a place since it was marked."""
        place = request["place"]
        told = changes(place, self.marks.get(place, {}), request["budget"], request["piece"])
        return {"handle": self.keep(self.handles, told)}

    def do_next(self, request: dict[str, Any]) -> Answer:
        """The next changes, about one piece of them; none at the end."""
        told = self.handles[request["handle"]]
        items: list[Item] = []
        room = request["piece"]
        if not isinstance(told, (int, Maker)):
            for item in told:
                items.append(item)
                room -= len(item.get("data", "")) + 2 * len(item.get("path", "")) + 200
                if room <= 0:
                    break
        return {"items": items}

    def keep(self, into: dict[int, Any], what: object) -> int:
        """Number something."""
        self.number += 1
        into[self.number] = what
        return self.number

    # --- Time -----------------------------------------------------------------------------------------------------

    def pause(self) -> float:
        """Seconds until something has to be looked at, if nothing happens before."""
        times = [self.until, *(until for _, _, until in self.waiting)]
        running = [command.until for command in self.commands.values() if command.code is None]
        watching = self.orders["memory"] or self.orders["files"]
        most = (POLL if self.orders["memory"] else PERIOD) if watching and running else 3600.0
        return max(0.0, min(most, min(times + running) - time.monotonic()))

    def turn(self) -> None:
        """Reap, enforce, and answer those who wait."""
        self.enforce()
        self.collect()
        for waiter in tuple(self.waiting):
            attempt, answer, until = waiter
            said = attempt()
            if said is None and time.monotonic() >= until:
                said = {"pending": True}
            if said is not None:
                self.waiting.remove(waiter)
                answer(said)

    def collect(self) -> None:
        """Reap whoever has ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            for command in self.commands.values():
                if command.pid == pid and command.code is None:
                    self.look_at_disk(now=True)
                    command.oom = command.oom or kernel_kills() > command.kills
                    command.settle(os.waitstatus_to_exitcode(status))

    def enforce(self) -> None:
        """Kill what has reached a limit that nobody else keeps."""
        now = time.monotonic()
        for command in self.commands.values():
            if command.code is None and now >= command.until:
                command.end("time")
        if self.orders["memory"]:
            for pid in largest_below_us(self.orders["memory"]):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                for command in self.commands.values():
                    command.oom = command.oom or command.code is None
        self.look_at_disk(now=False)

    def look_at_disk(self, *, now: bool) -> None:
        """End whatever runs when the places hold more than they may; a command's own end is a moment to look too.

        What is over the limit may be taken away, but once it was seen it must not grow.
        """
        began = time.monotonic()
        if not self.orders["files"] or (began < self.next_look and not now):
            return
        held, allowed = usage(self.orders["places"]), (self.orders["disk"], self.orders["files"])
        if held[0] <= allowed[0] and held[1] <= allowed[1]:
            self.seen = None
        elif self.seen is None or held[0] > self.seen[0] or held[1] > self.seen[1]:
            for command in self.commands.values():
                command.end("full")
            self.seen = self.seen or usage(self.orders["places"])
        self.next_look = began + max(PERIOD, (time.monotonic() - began) / SHARE)


def settle_in(orders: dict[str, Any]) -> None:
    """Make the places, become the user, and close this process to everybody else of that user."""
    os.umask(0o022)
    for place in orders["places"]:
        if place != "/tmp":  # noqa: S108  # a path inside
            os.makedirs(place, exist_ok=True)  # noqa: PTH103  # as above
            if os.geteuid() == 0:
                os.chown(place, orders["uid"], orders["uid"])
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(*[orders["uid"]] * 3)
        os.setresuid(*[orders["uid"]] * 3)
    for option, value in ((PR_SET_DUMPABLE, 0), (PR_SET_NO_NEW_PRIVS, 1), (PR_SET_CHILD_SUBREAPER, 1)):
        libc("prctl", option, value, 0, 0, 0)
    for folder in orders["folders"]:
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103  # as above


def serve(orders: dict[str, Any]) -> None:
    """Answer until the host has gone or the time to live is over."""
    listener = None
    if orders["socket"]:
        # Made before privileges are dropped: where we start as root, only root reaches it.
        os.makedirs(os.path.dirname(orders["socket"]), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120  # as above
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(orders["socket"])
        listener.listen(LISTEN)
    settle_in(orders)
    warden = Warden(orders)
    wake, waker = os.pipe()
    for fd in (wake, waker):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    asked = bytearray()
    while time.monotonic() < warden.until:
        running = [command for command in warden.commands.values() if command.code is None]
        readable = {fd: command for command in running for fd in command.readable()}
        writable = {fd: command for command in running for fd in command.writable()}
        source = listener.fileno() if listener else 0
        ready, free, _ = select.select([source, wake, *readable], list(writable), [], warden.pause())
        for fd in free:
            writable[fd].write()
        for fd in ready:
            if fd == wake:
                os.read(wake, 4096)
            elif fd in readable:
                readable[fd].read(fd)
            elif listener:
                hear_caller(listener, warden)
            elif not hear_host(asked, warden):
                return
        warden.turn()


def hear_host(asked: bytearray, warden: Warden) -> bool:
    """Take what came in on standard input; False when the host has gone."""
    data = os.read(0, 1 << 20)
    asked += data
    while (end := asked.find(b"\n")) >= 0:
        request = json.loads(asked[:end])
        del asked[: end + 1]
        warden.ask(request, lambda said, number=request["number"]: write_all(1, said | {"number": number}))
    return bool(data)


def hear_caller(listener: socket.socket, warden: Warden) -> None:
    """Take the request of one who has connected: a line, to be answered by a line."""
    caller, _ = listener.accept()
    caller.settimeout(5)
    try:
        with caller.makefile("rb") as lines:
            request = json.loads(lines.readline())
    except (OSError, ValueError):
        caller.close()
        return

    def answer(said: Answer) -> None:
        with contextlib.suppress(OSError), caller:  # the caller may have gone
            caller.sendall(json.dumps(said).encode() + b"\n")

    warden.ask(request, answer)


def write_all(fd: int, said: Answer) -> None:
    """Write an answer as a line."""
    data = json.dumps(said).encode() + b"\n"
    while data:
        data = data[os.write(fd, data) :]
