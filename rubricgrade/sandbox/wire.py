"""What the host and pid 1 say to each other: the shapes of the configuration and of requests.

The host sends `marshal`ed values (the same interpreter reads them) with open files beside them; pid 1 answers in short
text: ``ready``, ``ok``, ``exit CODE OOM``, ``error ERRNO TEXT``, ``lost TEXT``.
"""

from __future__ import annotations

from typing import Literal, TypedDict

INSIDE_UID = 1000
"""User and group id of every process inside, as it sees itself."""

MESSAGE_LIMIT = 1 << 18
"""Bytes of one request: bounds argv and environment together."""


class Space(TypedDict):
    """A place that the sandbox may write to.

    Attributes:
        target: Absolute path inside.
        lowers: Folders below the changes, topmost first; none for a place that starts empty.
        upper: The folder that holds the changes in `u`: bound from disk, or where a tmpfs is to be mounted.
        disk: Whether `upper` is on disk.
        data: tmpfs options: size, inodes, mode.
        mode: Permission bits of the place.
        owner: User and group of the place, as pid 1 names it at first.
    """

    target: str
    lowers: list[str]
    upper: str
    disk: bool
    data: str
    mode: int
    owner: int


class Config(TypedDict):
    """Everything that pid 1 needs to finish a sandbox.

    Attributes:
        spaces: Writable places.
        layers: (source, target) of folders shown read-only.
        hidden: Files of /proc to cover.
        frozen: A folder of /proc to make read-only.
        folders: Folders to make in writable places.
        spent: Mounts to take away once everything is in place.
        uid: User and group id inside.
        outer_uid: The same in the namespace that pid 1 starts in, where pid 1 is 0.
        root: Folder where a root file system is put together that then takes the place of everything; empty for none.
        seed: Whether the host fills the spaces first: pid 1 hands them out with ``seed`` and waits for a word.
        limits: (resource, value) for every command.
        seccomp: The filter program; empty for none.
        watch: Bytes of private memory over all processes that pid 1 enforces itself; 0 when the kernel does.
        lifetime: Seconds until pid 1 ends by itself.
    """

    spaces: list[Space]
    layers: list[tuple[str, str]]
    hidden: list[str]
    frozen: str
    folders: list[str]
    spent: list[str]
    uid: int
    outer_uid: int
    root: str
    seed: bool
    limits: list[tuple[int, int]]
    seccomp: bytes
    watch: int
    lifetime: float


Spawn = tuple[Literal["spawn"], list[str], dict[str, str], str]
"""Start a command: argv, environment, folder. Files: reply channel, [standard input,] output, error."""

Open = tuple[Literal["open"], str, int]
"""Open a file: path, permission bits when it is for writing or -1. Files: reply channel. The answer carries it."""

Uppers = tuple[Literal["uppers"]]
"""Hand out the folders of changes of the spaces, in their order. Files: reply channel."""

Listen = tuple[Literal["listen"], int]
"""Listen on a port of the sandbox's loopback. Files: reply channel. The answer carries the socket."""

Purge = tuple[Literal["purge"]]
"""End every process but pid 1. Files: reply channel."""

Request = Spawn | Open | Uppers | Listen | Purge
