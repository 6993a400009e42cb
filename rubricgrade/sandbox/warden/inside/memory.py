"""Memory in use here: who keeps the limit, how often the kernel did, and whom to end where it does not."""

import contextlib
import os
import resource

from rubricgrade.sandbox.pid1.processes import tree_of


def memory_group() -> str:
    """The control groups whose files show inside: ``cgroup2``, ``cgroup1``, or nothing."""
    for name, kind in (("memory.events", "cgroup2"), ("memory/memory.oom_control", "cgroup1")):
        if os.path.exists(f"/sys/fs/cgroup/{name}"):  # noqa: PTH110  # pathlib costs more than all of this
            return kind
    return ""


def kernel_kills() -> int:
    """How often the kernel has killed here for the memory limit; 0 where it does not say."""
    for name in ("memory.events", "memory/memory.oom_control"):
        with contextlib.suppress(OSError), open(f"/sys/fs/cgroup/{name}", encoding="ascii") as file:  # noqa: PTH123
            return sum(int(line.split()[1]) for line in file if line.startswith("oom_kill "))
    return 0


def largest_below_us(allowed: int) -> list[int]:
    """The processes below us to end, largest first, so that the rest holds at most so many bytes of private memory."""
    sizes: list[tuple[int, int]] = []
    for pid in tree_of(os.getpid()) - {os.getpid()}:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/statm", "rb") as file:  # noqa: PTH123
            _, whole, shared = file.read().split()[:3]
            sizes.append(((int(whole) - int(shared)) * resource.getpagesize(), pid))
    total = sum(size for size, _ in sizes)
    victims: list[int] = []
    for size, pid in sorted(sizes, reverse=True):
        if total <= allowed:
            break
        victims.append(pid)
        total -= size
    return victims
