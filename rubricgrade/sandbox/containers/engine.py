"""docker and podman by their command line: what they can do here, and the words that start a confined container."""

from __future__ import annotations

import asyncio
import io
import json
import os
import resource
import shutil
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from rubricgrade.errors import SandboxError, SandboxUnavailable
from rubricgrade.sandbox.contract import MiB, Template
from rubricgrade.sandbox.interior import Interior
from rubricgrade.sandbox.launch import KERNEL_UID
from rubricgrade.sandbox.warden.bundle import TMP, places

SKELETON = "localhost/rubricgrade-skeleton:1"
CALL_WAIT = 120.0
"""Seconds that the engine may take for anything but running a container."""
OPEN_FILES = 4096
PROCESSES = 1 << 14
"""Of one kernel user over all containers together; each container has a limit of its own below that."""
SHM_SIZE = 64 * MiB


@dataclass(frozen=True, slots=True)
class Facts:
    """What an engine on this host is like.

    Attributes:
        name: ``docker`` or ``podman``.
        rootless: It runs as an ordinary user, with users of containers mapped to spare ones.
        limits: Whether it can limit memory and processes.
        counts_files: Whether it can limit the number of files in a tmpfs, and say whose it is.
    """

    name: str
    rootless: bool
    limits: bool
    counts_files: bool


class Engine:
    """A command line of docker or podman.

    Attributes:
        command: The program with its own options.
    """

    def __init__(self, command: Sequence[str] = ("docker",)) -> None:
        """Take a command line, e.g. ``("docker", "-H", "unix:///run/other.sock")`` or ``("podman",)``."""
        self.command = tuple(command)

    async def call(self, *arguments: str, stdin: bytes = b"") -> str:
        """Run a command of the engine and return what it prints.

        Raises:
            SandboxUnavailable: The program is absent.
            SandboxError: It fails or takes too long.
        """
        if shutil.which(self.command[0]) is None:
            raise SandboxUnavailable(f"{self.command[0]} is not installed; install it, or use another provider")
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *self.command, *arguments, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
        try:
            said, complaint = await asyncio.wait_for(process.communicate(stdin), CALL_WAIT)
        except TimeoutError as error:
            raise SandboxError(f"{self.command[0]} {arguments[0]} takes more than {CALL_WAIT:g} s") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            words = " ".join((self.command[0], *arguments[:1]))
            raise SandboxError(f"{words} failed: {complaint.decode('utf-8', 'replace').strip()[-1000:]}")
        return said.decode("utf-8", "replace")

    async def facts(self) -> Facts:
        """Ask the engine what it is.

        Raises:
            SandboxUnavailable: It does not answer; says what it said.
        """
        try:
            about: dict[str, Any] = json.loads(await self.call("info", "--format", "{{json .}}"))
        except SandboxUnavailable:
            raise
        except (SandboxError, ValueError) as error:
            raise SandboxUnavailable(f"{self.command[0]} can't be used here: {error}") from error
        host: dict[str, Any] = about.get("host", {})
        if host:
            rootless = bool(host.get("security", {}).get("rootless"))
            return Facts("podman", rootless, not rootless or host.get("cgroupVersion") == "v2", counts_files=False)
        if errors := about.get("ServerErrors"):
            raise SandboxUnavailable(f"docker can't be used here: {errors[0]}")
        rootless = any("rootless" in option for option in about.get("SecurityOptions") or ())
        limits = bool(about.get("MemoryLimit")) and bool(about.get("PidsLimit"))
        return Facts("docker", rootless, limits, counts_files=True)

    async def make_skeleton(self, inside: Interior) -> None:
        """Make `SKELETON` if it is missing: empty folders, on which this host's own programs are mounted."""
        if not await self.call("images", "--quiet", SKELETON):
            await self.call("import", "-", SKELETON, stdin=_folders(inside))


def _folders(inside: Interior) -> bytes:
    """A tar of the places where parts of the host are mounted, and of the links that a system has in its root."""
    linked = {path.strip("/") for _, path in inside.links}
    names = {"usr", "etc", "proc", "sys", "dev", "run", "tmp", "opt"}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name in sorted(names - linked):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            tar.addfile(folder)
        for target, path in inside.links:
            link = tarfile.TarInfo(path.strip("/"))
            link.type, link.linkname = tarfile.SYMTYPE, target
            tar.addfile(link)
    return packed.getvalue()


def user(facts: Facts) -> int:
    """The user of a container's processes, who must be able to read what `stage` has made."""
    return KERNEL_UID if os.geteuid() == 0 and not facts.rootless else os.geteuid() or KERNEL_UID


def _capped(kind: int, wanted: int) -> int:
    hard = resource.getrlimit(kind)[1]
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


def confinement(facts: Facts, template: Template) -> list[str]:
    """Options that keep a container in its place."""
    limits = template.limits
    files, processes = _capped(resource.RLIMIT_NOFILE, OPEN_FILES), _capped(resource.RLIMIT_NPROC, PROCESSES)
    words = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
    words += ["--security-opt", "label=disable"]  # else SELinux keeps it from the folders mounted into it
    words += ["--network", template.network, "--hostname", "sandbox", "--shm-size", str(min(SHM_SIZE, limits.disk))]
    words += ["--user", f"{user(facts)}:{user(facts)}", "--workdir", "/"]
    words += ["--ulimit", f"nofile={files}:{files}", "--ulimit", f"nproc={processes}:{processes}"]
    if facts.rootless and facts.name == "podman":
        words += ["--userns", "keep-id"]
    if facts.limits:
        words += ["--memory", str(limits.memory), "--memory-swap", str(limits.memory)]
        words += ["--pids-limit", str(limits.processes)]
    # podman takes what an image has at the place for a pattern, and has other words for its owner.
    docker_only = f"nr_inodes={limits.files},uid={user(facts)},gid={user(facts)}"
    owned = docker_only if facts.counts_files else "notmpcopyup,U"
    for place in places(template):
        mode = "1777" if place == TMP else "755"
        words += ["--tmpfs", f"{place}:rw,exec,nosuid,nodev,size={limits.disk},mode={mode},{owned}"]
    for layer in template.layers:
        if layer.mode == "read":
            words += ["--volume", f"{layer.source}:{layer.target}:ro"]
    return words


def mounts(inside: Interior) -> list[str]:
    """Options that show this host's own programs, as every sandbox here has them."""
    above_first = sorted(inside.binds, key=lambda bind: len(PurePosixPath(bind[1]).parts))
    return [word for folder, place in above_first for word in ("--volume", f"{folder}:{place}:ro")]
