"""What the host was short of while a command ran, as its control groups count it: nothing inside can make that up.

A process that the kernel kills for memory, and a fork that it refuses, look the same from inside whether the sandbox
has come to its own limit or the host has less than was promised. Only the first says anything about what ran.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rubricgrade.sandbox import cgroups
from rubricgrade.sandbox.cgroups import number

NO_MEMORY = "the host ran out of memory, and the kernel killed a process of the sandbox that kept to its own limit"
NO_PROCESSES = "the host has no room for more processes, and refused the sandbox one that it may have"

NEAR = 0.95
"""Part of the limit: what is asked for at once, and refused for it, is never in use."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Counters of the kernel; each only grows.

    Attributes:
        killed: Processes that were killed for memory.
        reached: Times that the sandbox came to its own limit of memory, where the kernel counts them.
        refused: Forks that were refused in the sandbox.
        above: Forks that were refused, to it or others, for a limit of a group above it.
    """

    killed: int = 0
    reached: int = 0
    refused: int = 0
    above: int = 0


def counts(group: cgroups.Group | None) -> Counts:
    """The counters of one sandbox now.

    Args:
        group: Its control groups. A sandbox without any lies in our own group, with whatever else runs there.
    """
    if group is None:
        return Counts(killed=cgroups.own_kills())
    return Counts(group.kills(), _reached(group), number(group.processes / "pids.events", "max"), _above(group))


def since(before: Counts, group: cgroups.Group | None) -> str:
    """What the host was short of since those counters were read; empty if nothing, or if that can't be told.

    Without control groups it can't: a fast process gets past the sandbox's own limit for a moment.
    """
    if group is None:
        return ""
    if group.kills() > before.killed and not _was_at_its_memory(before, group):
        return NO_MEMORY
    if number(group.processes / "pids.events", "max") > before.refused:
        return "" if _was_at_its_processes(group) else NO_PROCESSES
    return NO_PROCESSES if _above(group) > before.above else ""


def _was_at_its_memory(before: Counts, group: cgroups.Group) -> bool:
    """Whether it has come to its own limit of memory; in version 1 also if that was before, and where it came near."""
    if group.version == 2:  # noqa: PLR2004  # the version of control groups
        return _reached(group) > before.reached
    # Not `memory.failcnt`: there are kernels on which it stays 0.
    peak, most = (_value(group.memory / f"memory.{name}_in_bytes") for name in ("max_usage", "limit"))
    return peak == 0 or peak >= NEAR * most


def _reached(group: cgroups.Group) -> int:
    return number(group.memory / "memory.events", "max") if group.version == 2 else 0  # noqa: PLR2004  # the version


def _above(group: cgroups.Group) -> int:
    """Version 1 counts each refusal where it is felt, whoever's limit it was for."""
    if group.version != 2:  # noqa: PLR2004  # the version of control groups
        return 0
    folders = (folder for folder in group.processes.parents if folder.is_relative_to(cgroups.MOUNT))
    return sum(number(folder / "pids.events.local", "max") for folder in folders)


def _was_at_its_processes(group: cgroups.Group) -> bool:
    """Whether it has ever had as many processes as it may; also if the kernel does not say."""
    peak, most = (_value(group.processes / name) for name in ("pids.peak", "pids.max"))
    return peak == 0 or peak >= most


def _value(file: Path) -> int:
    """The number that a file holds; 0 where there is none, and for ``max``."""
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return 0
