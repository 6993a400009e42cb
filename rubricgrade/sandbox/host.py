"""What this host can enforce, found out by trying: one finding for each part, with the remedy for what it can't."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rubricgrade.errors import SandboxError, TemplateError
from rubricgrade.sandbox import launch
from rubricgrade.sandbox.bubblewrap import BubblewrapProvider
from rubricgrade.sandbox.choosing import BUILT_IN, LOCAL
from rubricgrade.sandbox.contract import Isolation, Layer, Template

ENGINES = ("docker", "podman")
ENGINE_WAIT = 10.0
"""Seconds in which a container engine must answer."""
GROUPS = (
    "start it where control groups are handed down, such as "
    "`systemd-run --user --scope -p Delegate=yes -- ...`, or as root outside a container"
)
UNTRIED = "hosted; needs its vendor's package and a key, and was not run against the live service"
OLD_KERNEL = (
    "overlays for ordinary users need Linux 5.11 or newer, and a state folder that lies on no overlay: set TMPDIR"
)

State = Literal["ok", "weak", "no"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One part of what a sandbox needs, or could use.

    Attributes:
        name: The part.
        state: ``ok``; ``weak``: held by a lesser means, or not there and not needed; ``no``: needed, and not there.
        says: What was found.
        remedy: What would change it; empty when nothing has to.
    """

    name: str
    state: State
    says: str
    remedy: str = ""


async def examine() -> list[Finding]:
    """Try everything that sandboxes here rest on. Takes about a second, and leaves nothing behind."""
    findings = [Finding("system", "ok", f"{platform.system()} {platform.release()}, {platform.machine()}")]
    findings.append(Finding("user", "ok", "root" if os.geteuid() == 0 else f"uid {os.geteuid()}"))
    binary = await asyncio.to_thread(_bubblewrap)
    findings.append(binary)
    if binary.state == "ok":
        findings += await _sandbox()
    findings += [await asyncio.to_thread(_engine, name) for name in ENGINES]
    findings += [Finding(name, "weak", UNTRIED) for name in BUILT_IN if name not in LOCAL]
    return findings


def _bubblewrap() -> Finding:
    try:
        binary = launch.bwrap()
        done = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True)  # noqa: S603  # our own argv
    except (SandboxError, OSError, subprocess.CalledProcessError) as error:
        return Finding("bubblewrap", "no", "can't be run", str(error))
    return Finding("bubblewrap", "ok", f"{done.stdout.strip()} ({binary})")


async def _sandbox() -> list[Finding]:
    provider = BubblewrapProvider()
    try:
        isolation = await _try(provider, Template(name="doctor"))
    except SandboxError as error:
        return [Finding("sandbox", "no", "can't be made here", str(error))]
    with tempfile.TemporaryDirectory() as folder:
        async with provider.stage(Path(folder)) as staged:
            layers = (Layer(staged, "/work", "overlay"),)
            overlays = [
                await _overlay(provider, Template(name="doctor", layers=layers, upper=upper))
                for upper in ("memory", "disk")
            ]
    return [
        Finding("sandbox", "ok", f"commands run as the kernel's uid {isolation.kernel_uid}"),
        Finding("system-call filter", "ok" if isolation.seccomp else "no", "on" if isolation.seccomp else "off"),
        _limit("memory limit", isolation.memory),
        _limit("process limit", isolation.processes),
        *overlays,
    ]


async def _try(provider: BubblewrapProvider, template: Template) -> Isolation:
    """Open a sandbox, write a file in it, and close it."""
    sandbox = await provider.open(template, label="doctor")
    try:
        done = await sandbox.exec(["sh", "-c", "echo x > made"])
        if not done.ok:
            said = done.stderr.decode("utf-8", "replace").strip()
            raise TemplateError(f"a fork can't be written to: {done.error or said}")
        return sandbox.isolation
    finally:
        await sandbox.close()


async def _overlay(provider: BubblewrapProvider, template: Template) -> Finding:
    name = f"overlay, changes {'in memory' if template.upper == 'memory' else 'on disk'}"
    try:
        await _try(provider, template)
    except (SandboxError, TemplateError) as error:
        return Finding(name, "no", str(error), OLD_KERNEL)
    return Finding(name, "ok", "works")


def _limit(name: str, means: str) -> Finding:
    if means.startswith("cgroup"):
        return Finding(name, "ok", means)
    return Finding(name, "weak", f"{means}: a fast process can get past it for a moment", GROUPS)


def _engine(name: str) -> Finding:
    """Whether a container engine is there and answers; none is needed as long as bubblewrap works."""
    binary = shutil.which(name)
    if binary is None:
        return Finding(name, "weak", "not installed; not needed where bubblewrap works")
    argv = [binary, "version", "--format", "{{.Server.Version}}" if name == "docker" else "{{.Client.Version}}"]
    try:
        done = subprocess.run(  # noqa: S603  # our own argv
            argv, capture_output=True, text=True, check=False, timeout=ENGINE_WAIT, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(name, "weak", f"installed, but does not answer: {error}")
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return Finding(name, "weak", f"installed, but does not answer: {said}", f"start the service of {name}")
    return Finding(name, "ok", done.stdout.strip())
