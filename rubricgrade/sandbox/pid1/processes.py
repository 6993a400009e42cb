"""The processes of the sandbox: starting one, finding those below it, ending them all."""

import os
import resource
import time

from .system import libc

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal  # `signal` builds enumerations for 3 ms

PR_SET_CHILD_SUBREAPER = 36
DEAD = "ZX"
DEATH_WAIT = 5.0
"""Seconds that a killed process may take to go (one in an uninterruptible system call takes its time)."""


def processes() -> dict[int, tuple[int, str]]:
    """Every process in here but this one: its parent and its state letter."""
    found: dict[int, tuple[int, str]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208  # pathlib is not affordable here
        if not name.isdigit() or name == "1":
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123  # pathlib is not affordable here
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except OSError:
            continue  # it has gone meanwhile
        found[int(name)] = (int(parent), state.decode())
    return found


def living() -> set[int]:
    """Every process in here but this one that is not dead already."""
    return {pid for pid, (_, state) in processes().items() if state not in DEAD}


def tree_of(root: int) -> set[int]:
    """The processes below `root` that are still alive, and itself."""
    known = processes()
    members = {root}
    grown = True
    while grown:
        below = {pid for pid, (parent, _) in known.items() if parent in members}
        grown = not below <= members
        members |= below
    return {pid for pid in members if known.get(pid, (0, "Z"))[1] not in DEAD}


def signal_all(pids: set[int], number: int) -> None:
    """Send a signal to each that is still there."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def end_tree(root: int) -> None:
    """Kill a command with everything below it.

    All are stopped first, until no new one turns up: whoever forks faster than we read can't get away. A command keeps
    its double-forked children below it (it is their subreaper), and stopped parents hand none over.
    """
    stopped: set[int] = set()
    while fresh := tree_of(root) - stopped:
        signal_all(fresh, signal.SIGSTOP)
        stopped |= fresh
    signal_all(stopped, signal.SIGKILL)
    wait_for_death(stopped)


def end_all() -> None:
    """Kill every process but this one."""
    while alive := living():
        signal_all(alive, signal.SIGKILL)
        if not wait_for_death(alive):
            return


def wait_for_death(pids: set[int]) -> bool:
    """Whether all of them have ended before it takes too long."""
    until = time.monotonic() + DEATH_WAIT
    while pids & living():
        if time.monotonic() > until:
            return False
        time.sleep(0.001)
    return True


def largest(allowed: int) -> set[int]:
    """The processes to end, largest first, so that the rest holds at most so many bytes of private memory."""
    page = resource.getpagesize()
    sizes: list[tuple[int, int]] = []
    for pid in processes():
        try:
            with open(f"/proc/{pid}/statm", "rb") as file:  # noqa: PTH123  # pathlib is not affordable here
                _, all_pages, shared_pages = file.read().split()[:3]
        except OSError:
            continue  # it has gone meanwhile
        sizes.append(((int(all_pages) - int(shared_pages)) * page, pid))
    total = sum(size for size, _ in sizes)
    victims: set[int] = set()
    for size, pid in sorted(sizes, reverse=True):
        if total <= allowed:
            break
        victims.add(pid)
        total -= size
    return victims


def execute(argv: list[str], environment: dict[str, str]) -> None:
    """Become another program; a bare name is looked up in its own PATH.

    `os.execvpe` would import half the library for it.
    """
    if "/" in argv[0]:
        candidates = [argv[0]]
    else:
        candidates = [f"{folder}/{argv[0]}" for folder in environment.get("PATH", "").split(":") if folder]
    failure = FileNotFoundError(2, f"not found: {argv[0]}")
    for candidate in candidates:
        try:
            os.execve(candidate, argv, environment)  # noqa: S606  # running agents' programs is what this is for
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            failure = OSError(error.errno, f"can't be run: {argv[0]}: {error.strerror}")
    raise failure


def prepare(streams: list[int], groups: list[int], limits: list[tuple[int, int]]) -> None:
    """Give this forked child a session, control groups, limits and streams of its own."""
    os.setsid()
    libc("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for group in groups:
        os.write(group, b"0")
    for kind, wanted in limits:
        hard = resource.getrlimit(kind)[1]
        known = [value for value in (wanted, hard) if value != resource.RLIM_INFINITY]
        value = min(known, default=resource.RLIM_INFINITY)
        resource.setrlimit(kind, (value, value))
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
