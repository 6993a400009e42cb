"""Turns a template into the plan of one sandbox: what is bound where, what pid 1 mounts, which limits hold."""

from __future__ import annotations

import contextlib
import os
import platform
import posixpath
import resource
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from rubricgrade.errors import SandboxUnavailable, TemplateError
from rubricgrade.sandbox import cgroups, launch, quota, seccomp, state
from rubricgrade.sandbox.allowed import Allowed
from rubricgrade.sandbox.contract import Layer, Limits, MiB, Template
from rubricgrade.sandbox.interior import HOME, Interior
from rubricgrade.sandbox.wire import INSIDE_UID, Config, Space

TMP = "/tmp"  # noqa: S108  # a path inside
SHM = "/dev/shm"  # noqa: S108  # a path inside
SHM_SIZE = 64 * MiB
OPEN_FILES = 4096
LEAST_OPEN_FILES = 1024
"""What programs are written for; more may be used where the host has more."""
STACK = 8 * MiB
"""What Linux gives unless told otherwise: what recurses deeply must end here as it does anywhere."""
PENDING_SIGNALS = 4096
MESSAGE_QUEUES = 1 << 16

HIDDEN = [
    f"/proc/{name}"
    for name in ("cmdline", "config.gz", "kallsyms", "key-users", "keys", "latency_stats", "modules", "sched_debug")
]
"""What /proc tells every user about the host. (What only root may read is closed to a sandbox anyway.)"""
FROZEN = "/proc/sys"
"""Made read-only: an ordinary user's sandbox would own the network switches in it."""
ROOT = "/"
PREPARED = "/.r"
"""Where a root file system is put together, before it becomes the root."""
RESERVED = ("/usr", "/etc", "/proc", "/dev", "/opt/env", "/.l", "/.u", "/bin", "/sbin", "/lib", "/lib64")
RESERVED_IN_ROOT = ("/proc", "/dev")
"""What a template with a root file system of its own must leave as it is."""


@dataclass(frozen=True, slots=True)
class Built:
    """A plan with what it holds open.

    Attributes:
        plan: For `launch.start`.
        handles: To be closed once the sandbox runs.
        writable: Places that may be written to, in pid 1's order.
        disk: Folders of changes on disk, whose size nobody but us limits.
    """

    plan: launch.Plan
    handles: contextlib.ExitStack
    writable: tuple[str, ...]
    disk: tuple[Path, ...]


def check(template: Template, interior: Interior, kernel_uid: int) -> None:
    """Raise `TemplateError` for a template that can't be built.

    Args:
        template: What was asked for.
        interior: What is there already, and must not be covered.
        kernel_uid: Who has to own a folder for a sandbox to be able to change it.
    """
    if template.image:
        raise TemplateError(
            f"template {template.name!r} lies on a container image; use a provider made for {template.image!r}"
        )
    _check_network(template)
    rooted = has_root(template)
    held = RESERVED_IN_ROOT if rooted else (*RESERVED, *(inside for _, inside in interior.binds))
    for target in {template.workdir, *(layer.target for layer in template.layers)} - ({ROOT} if rooted else set()):
        if target == "/" or posixpath.normpath(target) != target or not target.startswith("/") or target[:2] == "//":
            raise TemplateError(f"not a clean absolute path inside: {target!r}")
        for place in held:
            if f"{place}/".startswith(f"{target}/") or f"{target}/".startswith(f"{place}/"):
                raise TemplateError(f"{target!r} would cover or lie in {place!r}, which every sandbox needs as it is")
    for layer in template.layers:
        if not layer.source.is_dir():
            raise TemplateError(f"layer {layer.target!r}: {layer.source} is no folder")
        if layer.mode == "overlay" and layer.source.stat().st_uid != kernel_uid:
            raise TemplateError(
                f"layer {layer.target!r}: {layer.source} does not belong to the sandbox's user {kernel_uid}, so the "
                "sandbox could not change its copy of it; use what `stage` returns"
            )


def _check_network(template: Template) -> None:
    if template.allow and template.network != "none":
        raise TemplateError(f"template {template.name!r} has both a list of allowed hosts and the host's network")
    try:
        Allowed.parse(template.allow)
    except ValueError as error:
        raise TemplateError(f"template {template.name!r}: {error}") from error


def refuse_allowed_hosts(template: Template, provider: str) -> None:
    """Raise `TemplateError` for a template with a list of allowed hosts, for who can't hold a sandbox to it."""
    if template.allow:
        raise TemplateError(
            f"template {template.name!r} has a list of allowed hosts, and {provider} can't hold a sandbox to it: "
            "use bubblewrap, or a template without a network"
        )


def has_root(template: Template) -> bool:
    """Whether the template brings a root file system instead of the host's."""
    return any(layer.target == ROOT and layer.mode == "overlay" for layer in template.layers)


def _limits(limits: Limits, *, grouped: bool) -> list[tuple[int, int]]:
    """Resource limits of every command. Where control groups hold memory and processes, these only back them up."""
    spare = 64 if grouped else 0
    values = [
        (resource.RLIMIT_NPROC, limits.processes + spare),
        (resource.RLIMIT_FSIZE, limits.file_size),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, limits.cpu),
        (resource.RLIMIT_SIGPENDING, PENDING_SIGNALS),
        (resource.RLIMIT_MSGQUEUE, MESSAGE_QUEUES),
        (resource.RLIMIT_STACK, STACK),
        # Node, Java and Go reserve many times the address space that they use.
        (resource.RLIMIT_AS, resource.RLIM_INFINITY),
    ]
    return values if grouped else [*values, (resource.RLIMIT_DATA, limits.memory)]


def check_host(template: Template, folder: Path) -> None:
    """Raise `SandboxUnavailable` where less than a sandbox may use is left to this process, and so to what it starts.

    A program that comes to such a limit fails as it would at its own, and nobody could tell the two apart.

    Args:
        template: What it may use.
        folder: Where it keeps what it writes to disk.
    """
    limits = template.limits
    if template.upper == "disk" and (room := quota.room(folder)) < limits.disk:
        raise SandboxUnavailable(
            f"{folder} has room for {room // MiB:,} MiB, and a sandbox may write {limits.disk // MiB:,} MiB there: "
            "make room, or set TMPDIR to a folder that has more",
            short=True,
        )
    needed = {
        "NPROC": (resource.RLIMIT_NPROC, limits.processes),
        "FSIZE": (resource.RLIMIT_FSIZE, limits.file_size),
        "CPU": (resource.RLIMIT_CPU, limits.cpu),
        "AS": (resource.RLIMIT_AS, limits.memory),
        "DATA": (resource.RLIMIT_DATA, limits.memory),
        "STACK": (resource.RLIMIT_STACK, STACK),
        "NOFILE": (resource.RLIMIT_NOFILE, LEAST_OPEN_FILES),
    }
    for name, (kind, least) in needed.items():
        hard = resource.getrlimit(kind)[1]
        if hard != resource.RLIM_INFINITY and hard < least:
            raise SandboxUnavailable(
                f"the hard limit RLIMIT_{name} of this process is {hard}, and a sandbox may use {least}: raise it for "
                "the user who runs this (`ulimit -a -H` shows all)",
                short=True,
            )


class _Builder:
    """Collects the parts of one plan."""

    def __init__(self, entry: state.Entry, kernel_uid: int) -> None:
        self.entry = entry
        self.owner = kernel_uid if os.geteuid() == 0 else None
        self.uid = self.owner or 0  # how pid 1's first user namespace names the sandbox's user
        self.handles = contextlib.ExitStack()
        self.binds: list[tuple[Path, str, bool]] = []
        self.folders: list[str] = []
        self.spent: list[str] = []
        self.spaces: list[Space] = []
        self.disk: list[Path] = []

    def bind(self, folder: Path, inside: str, *, writable: bool = False) -> str:
        self.binds.append((folder, inside, writable))
        return inside

    def source(self, layer: Layer) -> str:
        """Bind a layer where only pid 1 sees it, to be mounted at its place."""
        path = self.bind(layer.source, f"/.l/{len(self.binds)}")
        self.spent.append(path)
        return path

    def space(self, target: str, lowers: list[Layer], mode: int, size: int, files: int, *, disk: bool) -> None:
        """One writable place."""
        upper = f"/.u/{len(self.spaces)}"
        if disk:
            folder = self.entry.folder / str(len(self.spaces))
            folder.mkdir(mode=0o700)
            for name, bits in (("u", mode), ("w", 0o755)):
                (folder / name).mkdir()
                (folder / name).chmod(bits)
            for path in (folder, folder / "u", folder / "w"):
                if self.owner is not None:
                    os.chown(path, self.owner, self.owner)
            self.bind(folder, upper, writable=True)
            self.disk.append(folder / "u")
        else:
            self.folders.append(upper)
        self.spent.append(upper)
        self.spaces.append(
            {
                "target": target,
                "lowers": [self.source(layer) for layer in reversed(lowers)],
                "upper": upper,
                "disk": disk,
                "data": f"size={size},nr_inodes={files},mode={mode:o},uid={self.uid},gid={self.uid}",
                "mode": mode,
                "owner": self.uid,
            }
        )


def build(
    template: Template,
    interior: Interior,
    entry: state.Entry,
    group: cgroups.Group | None,
    *,
    kernel_uid: int,
    seed: bool,
) -> Built:
    """Plan one sandbox. Call `check` first; close `Built.handles` when it runs or has failed."""
    builder = _Builder(entry, kernel_uid)
    limits = template.limits
    stacks: defaultdict[str, list[Layer]] = defaultdict(list)
    stacks[template.workdir] = []
    stacks[TMP] = []
    for layer in template.layers:
        if layer.mode == "overlay":
            stacks[layer.target].append(layer)
    disk = template.upper == "disk"
    for target, lowers in stacks.items():
        mode = 0o1777 if target == TMP else 0o755
        builder.space(target, lowers, mode, limits.disk, limits.files, disk=disk and target != TMP)
    builder.space(SHM, [], 0o1777, min(SHM_SIZE, limits.disk), 1024, disk=False)
    layers = [(builder.source(layer), layer.target) for layer in template.layers if layer.mode == "read"]
    handles = group.handles() if group else []
    for handle in handles:
        builder.handles.callback(os.close, handle)
    config: Config = {
        "spaces": builder.spaces,
        "layers": layers,
        "hidden": HIDDEN,
        "frozen": FROZEN,
        "folders": [HOME],
        "spent": builder.spent,
        "uid": INSIDE_UID,
        "outer_uid": builder.uid,
        "root": PREPARED if has_root(template) else "",
        "seed": seed,
        "limits": _limits(limits, grouped=bool(group)),
        "seccomp": seccomp.program(count_memory=bool(group), machine=platform.machine()),
        "watch": 0 if group else limits.memory,
        "lifetime": limits.lifetime,
    }
    targets = [target for target in (*stacks, *(target for _, target in layers)) if target != TMP]
    plan = launch.Plan(
        interior,
        config,
        tuple(builder.binds),
        (*builder.folders, PREPARED) if has_root(template) else (*builder.folders, TMP, *targets),
        tuple(handles),
        template.network == "host",
        launch.user_namespace() if builder.owner else -1,
    )
    return Built(plan, builder.handles, tuple(space["target"] for space in builder.spaces), tuple(builder.disk))
