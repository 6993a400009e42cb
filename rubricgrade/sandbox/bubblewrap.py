"""The default provider: sandboxes by bubblewrap, for root and for ordinary users, with nothing to install beside pip.

Started by root, everything of an agent runs as an unprivileged user of the kernel; "closed" means that pid 1 has been
reaped; whatever a killed grader leaves behind is removed by the next one.
"""

from __future__ import annotations

import asyncio
import os
import platform
import socket
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from rubricgrade.errors import SandboxUnavailable
from rubricgrade.sandbox import building, cgroups, failing, interior, launch, proxy, remedy, seccomp, staging, state
from rubricgrade.sandbox.allowed import Allowed
from rubricgrade.sandbox.contract import Isolation, Template
from rubricgrade.sandbox.ground import Ground, Removals
from rubricgrade.sandbox.link import Link
from rubricgrade.sandbox.live import BubblewrapSandbox, Parts


def environment(inside: interior.Interior, template: Template) -> dict[str, str]:
    """The whole environment of a sandbox's processes: nothing of the host's."""
    return {
        "PATH": interior.ROOT_PATH if building.has_root(template) else inside.path,
        "HOME": interior.HOME,
        "USER": "agent",
        "LOGNAME": "agent",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "TMPDIR": building.TMP,
        **(proxy.environment(Allowed.parse(template.allow)) if template.allow else {}),
    } | dict(template.env)


class BubblewrapProvider:
    """Makes sandboxes by bubblewrap; see `contract.Provider`.

    Attributes:
        name: ``bubblewrap``.
        kernel_uid: The user that the host's kernel sees: a spare one when we are root, else our own.
    """

    name = "bubblewrap"

    def __init__(self, *, uid: int = launch.KERNEL_UID) -> None:
        """Make a provider; nothing is touched before the first `open`.

        Args:
            uid: Kernel user and group of the sandboxes when started by root. Never 0.
        """
        if uid == 0:
            raise ValueError("a sandbox must not run as the kernel's root")
        self.kernel_uid = uid if os.geteuid() == 0 else os.geteuid()
        self._lock = threading.Lock()
        self._interior: interior.Interior | None = None
        self._removals = Removals()

    def interior(self) -> interior.Interior:
        """What all sandboxes share. The first call prepares it, and removes what crashed owners have left.

        Raises:
            SandboxUnavailable: This host can't.
        """
        with self._lock:
            if self._interior is None or not self._interior.is_whole():
                if sys.platform != "linux":
                    raise SandboxUnavailable(remedy.NOT_LINUX)
                if platform.machine() not in seccomp.AUDIT_ARCH:
                    raise SandboxUnavailable(remedy.MACHINE.format(machine=platform.machine()))
                launch.bwrap()
                if os.geteuid() == 0:
                    launch.user_namespace()
                state.reap()
                self._interior = interior.prepare(state.root())
            os.utime(self._interior.base)  # in use: nobody else removes it
            return self._interior

    async def open(self, template: Template, *, label: str = "") -> BubblewrapSandbox:
        """See `contract.Provider.open`."""
        return await self._open(template, label, None)

    async def _open(self, template: Template, label: str, seed: launch.Seed | None) -> BubblewrapSandbox:
        with failing.unavailable():
            return await self._opened(template, label, seed)

    async def _opened(self, template: Template, label: str, seed: launch.Seed | None) -> BubblewrapSandbox:
        if not self._interior:
            await asyncio.to_thread(self.interior)
        inside = self.interior()
        layers = [layer.source for layer in template.layers]
        if missing := self._removals.below(layers):
            raise SandboxUnavailable(f"{missing} was removed while a sandbox was in use that stands on it")
        ground = Ground(layers)

        def whole() -> bool:
            lost = ground.lost()
            self._removals.note(lost)
            return not lost and inside.is_whole()

        parts = await self._make(template, inside, label, seed)
        group = f"cgroup{parts.group.version}" if parts.group else ""
        return BubblewrapSandbox(
            parts,
            template,
            environment=environment(inside, template),
            isolation=Isolation(
                provider=self.name,
                kernel_uid=self.kernel_uid,
                memory=group or "rlimit+watchdog",
                processes=group or "rlimit",
                seccomp=True,
                network=f"only {', '.join(template.allow)}" if template.allow else template.network,
            ),
            whole=whole,
            reopen=lambda other: self._open(template, label, other),
        )

    async def _make(self, template: Template, inside: interior.Interior, label: str, seed: launch.Seed | None) -> Parts:
        building.check(template, inside, self.kernel_uid)
        building.check_host(template, state.root())
        place = cgroups.find()
        group = cgroups.plan(place) if place else None
        entry = state.create(label, tuple(str(folder) for folder in group.folders) if group else ())
        try:
            if group:
                try:
                    cgroups.make(group, memory=template.limits.memory, processes=template.limits.processes)
                except OSError:
                    group = None  # the next best means holds the limits, and `Isolation` says so
            built = building.build(template, inside, entry, group, kernel_uid=self.kernel_uid, seed=seed is not None)
            with built.handles:
                link = await launch.start(built.plan, seed)
            way_out = _way_out(link, template) if template.allow else None
        except BaseException:
            entry.release()
            raise
        return Parts(link, entry, group, built.writable, built.disk, way_out)

    async def reap(self, label: str | None = None, older_than: float = 0) -> int:
        """See `contract.Provider.reap`."""
        return await asyncio.to_thread(state.reap, label, older_than)

    @asynccontextmanager
    async def stage(self, source: Path, *, layer: bool = False) -> AsyncGenerator[Path]:
        """A private copy of a hostile folder or archive, for use as `Layer.source` as long as the block runs."""
        owner = self.kernel_uid if os.geteuid() == 0 else None
        staging_it = asyncio.ensure_future(asyncio.to_thread(staging.stage, source, owner=owner, layer=layer))
        try:
            with failing.unavailable():
                staged = await asyncio.shield(staging_it)
        except asyncio.CancelledError:
            (await staging_it).release()  # a copy can't be stopped half-way
            raise
        try:
            yield staged.folder
        finally:
            await asyncio.shield(asyncio.to_thread(staged.release))


def _way_out(link: Link, template: Template) -> proxy.Proxy:
    """The proxy of a sandbox with a list of allowed hosts. Ends the sandbox when there can be none."""
    try:
        (listener,) = link.ask(("listen", proxy.PORT))  # takes a millisecond, a thread no less
    except BaseException:
        link.end()
        raise
    return proxy.Proxy(socket.socket(fileno=listener), Allowed.parse(template.allow))
