"""The contract of every sandbox provider: what can be asked of a sandbox, with every limit and error.

A *template* is prepared once; a *fork* is an independent copy of a template or of a running sandbox. All paths are
inside the sandbox. argv only: nothing is ever given to a shell unless the caller names one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, Self

from rubricgrade.tree import Listing

MiB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """What one sandbox may use.

    Attributes:
        memory: Bytes of memory over all processes (enforced by the best means that the host has; see `Isolation`).
        processes: Processes and threads at any time.
        disk: Bytes that may be written below the work folder and in /tmp, each.
        files: Files (inodes) that may be made in each of them.
        file_size: Bytes of one file.
        cpu: Seconds of CPU time of one process.
        lifetime: Seconds after which a sandbox may be reaped, whoever holds it.
    """

    memory: int = 1024 * MiB
    processes: int = 256
    disk: int = 512 * MiB
    files: int = 200_000
    file_size: int = 256 * MiB
    cpu: int = 3600
    lifetime: float = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Layer:
    """A host folder, private to us, that appears at `target`.

    Attributes:
        source: Host folder. Prepared by us (see `staging`), never a folder that an agent can still write to. When we
            are root it must be readable for others, and belong to the sandbox's user to be changed by it.
        target: Absolute path inside. ``/`` (as an overlay) is a root file system: nothing of the host's is shown.
        mode: ``read`` mounts it read-only; ``overlay`` lets the sandbox change its own copy of it.
    """

    source: Path
    target: str
    mode: Literal["read", "overlay"] = "read"


@dataclass(frozen=True, slots=True)
class Template:
    """What a sandbox starts from. Immutable; named by the hash of its content.

    Attributes:
        name: A name for people.
        digest: ``sha256:...`` of everything that decides the content.
        layers: Folders on top of the base. Those of mode ``overlay`` at the same target are stacked, lower first.
        env: Environment of every process, on top of the fixed one.
        workdir: Where processes start; writable.
        limits: What a fork may use.
        network: ``none``, or ``host`` for a template that asks for it (then it says so in every grade).
        allow: Hosts that it may reach through a proxy although `network` is ``none`` (see `allowed.Allowed.parse`), for
            providers that can hold it to them; the others refuse it.
        upper: Where a fork's changes live: ``memory`` (sized tmpfs, fastest) or ``disk`` (survives for a snapshot).
        image: Container image below the layers, for providers that have images; the others refuse it.
    """

    name: str = "base"
    digest: str = ""
    layers: tuple[Layer, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    workdir: str = "/work"
    limits: Limits = field(default_factory=Limits)
    network: Literal["none", "host"] = "none"
    allow: tuple[str, ...] = ()
    upper: Literal["memory", "disk"] = "memory"
    image: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended. A timeout or a flood is a result, not an exception.

    Attributes:
        code: Exit code; ``128 + n`` when signal n ended it; -1 when it never started (see `error`).
        stdout: At most `limit` bytes: the head and the tail when more was written.
        stderr: The same.
        stdout_total: Bytes that were written in all.
        stderr_total: The same.
        seconds: Wall time.
        timed_out: It reached its time limit and its whole process tree was killed.
        flooded: It wrote more than 64 times `limit` and was killed for it.
        oom: Memory ran out: the kernel killed a process of it for its memory limit.
        full: It was killed because the sandbox kept more on disk than it may. (In memory, the kernel refuses instead.)
        error: Why it never started, e.g. ``not found: pyhton``; empty otherwise.
    """

    code: int
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_total: int = 0
    stderr_total: int = 0
    seconds: float = 0.0
    timed_out: bool = False
    flooded: bool = False
    oom: bool = False
    full: bool = False
    error: str = ""

    @property
    def ok(self) -> bool:
        """Whether it ran to its own end with exit code 0."""
        return self.code == 0 and not (self.timed_out or self.flooded or self.error)


@dataclass(frozen=True, slots=True)
class Isolation:
    """What really holds in a sandbox on this host; recorded in every grade.

    Attributes:
        provider: ``bubblewrap``, ``docker``, ...
        kernel_uid: The uid that the host's kernel sees; never 0.
        memory: ``cgroup2``, ``cgroup1``, ``rlimit+watchdog`` or ``none``.
        processes: ``cgroup2``, ``cgroup1``, ``rlimit`` or ``none``.
        seccomp: Whether the system-call filter is on.
        network: ``none``, ``host``, or ``only`` with the hosts that it may reach.
    """

    provider: str
    kernel_uid: int
    memory: str
    processes: str
    seccomp: bool
    network: str


class Process(Protocol):
    """A running command with open pipes, for a conversation."""

    async def send(self, data: bytes) -> None:
        """Write to its standard input. Raises `BrokenPipeError` when it has closed it."""
        ...

    async def receive(self, limit: int = MiB) -> bytes:
        """Read one line of its standard output with the newline; ``b""`` at its end.

        Raises:
            ValueError: The line is longer than `limit`; the process is then killed.
        """
        ...

    async def finish(self) -> Done:
        """Close its standard input, wait for its end (within its time limit) and say how it ended.

        `Done.stdout` holds what `receive` has not taken.
        """
        ...

    async def kill(self) -> None:
        """End its whole process tree now."""
        ...


class Sandbox(Protocol):
    """One live sandbox. Background processes of one `exec` stay up until `close`.

    Every method raises `errors.SandboxLost` when the sandbox has died.
    """

    @property
    def isolation(self) -> Isolation:
        """What holds here."""
        ...

    async def exec(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        stdin: bytes = b"",
        timeout: float = 120,  # noqa: ASYNC109  # a limit that is part of the contract: reaching it is a result
        limit: int = MiB,
    ) -> Done:
        """Run a command to its end. Returns when the command itself has ended, even if children hold its pipes.

        Args:
            argv: Program and arguments; a bare program name is looked up in the sandbox's PATH.
            cwd: Default: the template's workdir.
            env: Added to the sandbox's own environment.
            user: Reserved for providers with several users; others raise `ValueError` for anything but None.
            stdin: All of its standard input.
            timeout: Seconds; then its whole process tree is killed and `Done.timed_out` is set.
            limit: Bytes kept of each stream.
        """
        ...

    async def start(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float = 120,  # noqa: ASYNC109  # a limit that is part of the contract: reaching it is a result
        limit: int = MiB,
    ) -> Process:
        """Start a command to converse with; arguments as in `exec`."""
        ...

    async def read(self, path: str, *, limit: int = 10 * MiB) -> bytes:
        """Read a regular file.

        Raises:
            FileNotFoundError: Nothing is there, or it is no regular file (links are not followed).
            ValueError: It is larger than `limit`.
        """
        ...

    async def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Write a file, making the folders above it. Raises `OSError` when the place can't be written."""
        ...

    async def fork(self) -> Self:
        """An independent copy of this sandbox's file system as it is now (not of its processes)."""
        ...

    async def snapshot(self, archive: Path) -> Listing:
        """Write what was changed in the work folder as an archive (`tree.pack`), deletions included, and list it."""
        ...

    async def close(self) -> None:
        """End it. May be called twice.

        When this returns, every process of it is dead and reaped, and its files are gone.
        """
        ...


class Provider(Protocol):
    """A way to make sandboxes."""

    name: str

    async def open(self, template: Template, *, label: str = "") -> Sandbox:
        """Make a fork of a template.

        Raises:
            SandboxUnavailable: This host can't; the message says what to do.
        """
        ...

    def stage(self, source: Path, *, layer: bool = False) -> AbstractAsyncContextManager[Path]:
        """A private copy of a hostile folder or archive, for use as `Layer.source` as long as the block runs.

        Args:
            source: A folder, or a file that `tree.pack` has written.
            layer: Keep the marks of deletions, for a layer above others at the same place.
        """
        ...

    async def reap(self, label: str | None = None, older_than: float = 0) -> int:
        """Remove what crashed owners have left behind (never what a live process holds); returns how many."""
        ...
