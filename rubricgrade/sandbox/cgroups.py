"""Memory and process limits by control groups, where this user may make some: version 1 or version 2.

Only the commands of a sandbox are put in, never its pid 1: it must survive when the kernel kills for memory. They join
by themselves, through a handle that is opened here, so that nothing of the control group file system shows inside.
"""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

MOUNT = Path("/sys/fs/cgroup")
KILLS = {1: "memory.oom_control", 2: "memory.events"}
"""The file that counts kills for memory, by the version of control groups."""
REMOVE_WAIT = 2.0
"""Seconds that a group may stay busy after its last process has been killed."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where groups can be made.

    Attributes:
        version: 1 or 2.
        memory: Folder above our groups.
        processes: The same for the pids controller; equal to `memory` in version 2.
    """

    version: int
    memory: Path
    processes: Path


@dataclass(frozen=True, slots=True)
class Group:
    """The groups of one sandbox.

    Attributes:
        version: 1 or 2.
        memory: Folder that holds the memory limit.
        processes: Folder that holds the process limit.
    """

    version: int
    memory: Path
    processes: Path

    @property
    def folders(self) -> tuple[Path, ...]:
        """Each folder once."""
        return (self.memory,) if self.memory == self.processes else (self.memory, self.processes)

    def handles(self) -> list[int]:
        """Open handles that whoever writes ``0`` to joins by; the caller closes them."""
        return [os.open(folder / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC) for folder in self.folders]

    def kills(self) -> int:
        """How many of its processes the kernel has killed for memory, for its own limit or for the host's."""
        return number(self.memory / KILLS[self.version], "oom_kill")


def number(file: Path, key: str) -> int:
    """The number in a line such as ``oom_kill 3``; 0 where there is none, as in a group that went with its sandbox."""
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return 0
    return next((int(value) for name, _, value in (line.partition(" ") for line in lines) if name == key), 0)


def _own() -> dict[str, str]:
    """This process's group per controller; the empty key is version 2."""
    groups: dict[str, str] = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            groups[controller] = path
    return groups


def _version_2(path: str, mount: Path) -> Place | None:
    """A folder of the unified hierarchy that hands memory and pids down: our own group, or the one above it."""
    own = mount / path.lstrip("/")
    for folder in (own, own.parent):
        try:
            controllers = (folder / "cgroup.subtree_control").read_text().split()
        except OSError:
            continue
        writable = os.access(folder, os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK)
        if writable and {"memory", "pids"} <= set(controllers) and folder.is_relative_to(mount):
            return Place(2, folder, folder)
    return None


@functools.cache
def _own_memory(mount: Path = MOUNT) -> tuple[Path, ...]:
    """Where the kernel may count kills for memory in this process's own group."""
    try:
        own = _own()
    except OSError:
        return ()
    above = {1: [mount / "memory" / own["memory"].lstrip("/")] if "memory" in own else []}
    above[2] = [mount / own[""].lstrip("/")] if "" in own else []
    return tuple(folder / KILLS[version] for version, folders in above.items() for folder in folders)


def own_kills() -> int:
    """How many processes of this process's own group, itself and whatever it has started, were killed for memory."""
    return sum(number(file, "oom_kill") for file in _own_memory())


@functools.cache
def find(mount: Path = MOUNT) -> Place | None:
    """The place where this process may make groups that hold both limits, or None."""
    try:
        own = _own()
    except OSError:
        return None
    if "" in own:
        for at in (mount, mount / "unified"):
            if place := _version_2(own[""], at):
                return place
    if {"memory", "pids"} <= own.keys():
        memory, pids = (mount / name / own[name].lstrip("/") for name in ("memory", "pids"))
        if os.access(memory, os.W_OK) and os.access(pids, os.W_OK) and (memory / "memory.limit_in_bytes").exists():
            return Place(1, memory, pids)
    return None


def plan(place: Place) -> Group:
    """Choose the groups of one sandbox. Nothing is made yet, so that the caller can note first what it will own."""
    name = f"sandbox-{secrets.token_hex(8)}"
    return Group(place.version, place.memory / name, place.processes / name)


def make(group: Group, *, memory: int, processes: int) -> None:
    """Make planned groups with their limits. Raises `OSError` when the kernel refuses."""
    for folder in group.folders:
        folder.mkdir()
    limit, swap, room = (
        ("memory.max", "memory.swap.max", 0)
        if group.version == 2  # noqa: PLR2004  # the version of control groups
        else ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", memory)
    )
    (group.memory / limit).write_text(str(memory))
    if (group.memory / swap).exists():
        (group.memory / swap).write_text(str(room))
    (group.processes / "pids.max").write_text(str(processes))


def remove(folder: Path) -> None:
    """Remove one group folder once its last process has gone. One that stays busy is left for the next `reap`."""
    until = time.monotonic() + REMOVE_WAIT
    while True:
        try:
            with contextlib.suppress(FileNotFoundError):
                folder.rmdir()
        except OSError:
            if time.monotonic() > until:
                return
            time.sleep(0.005)
        else:
            return
