"""Makes sandboxes of a vendor's machines: a warden is started on each, and everything goes through it."""

from __future__ import annotations

import asyncio
import secrets
import shlex
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from rubricgrade.errors import RubricgradeError, SandboxLost, SandboxUnavailable, TemplateError
from rubricgrade.sandbox import building, staging
from rubricgrade.sandbox.contract import Isolation, Template
from rubricgrade.sandbox.hosted.link import BridgeLink
from rubricgrade.sandbox.hosted.machine import Machine, Vendor
from rubricgrade.sandbox.warden import Greeting, Orders, WardenSandbox, moving, program
from rubricgrade.sandbox.warden.asking import Nothing, ask
from rubricgrade.sandbox.warden.bundle import HOME, places, resources
from rubricgrade.sandbox.warden.tag import Tag, new_tag

UID = 1000
"""Whom the sandbox's commands run as, where a machine lets us start as root."""
START_WAIT = 60.0
"""Seconds that the first commands on a machine may take."""
TRIES = 150
"""How often to look for the warden, every tenth of a second."""


class HostedProvider:
    """See `contract.Provider`. A machine needs Python 3.11 and, for checks by code, this package.

    Attributes:
        name: Of the vendor.
        vendor: Makes the machines.
    """

    def __init__(self, vendor: Vendor) -> None:
        """Make a provider; nothing is touched before the first `open`."""
        self.vendor = vendor
        self.name = vendor.name

    async def open(self, template: Template, *, label: str = "") -> WardenSandbox:
        """See `contract.Provider.open`."""
        building.refuse_allowed_hosts(template, self.name)
        if building.has_root(template):
            raise TemplateError("a hosted sandbox has no root file system but its image's")
        lifetime = min(template.limits.lifetime, self.vendor.ttl)
        try:
            machine = await self.vendor.create(template, new_tag(label, lifetime))
        except RubricgradeError:
            raise
        except Exception as error:  # an SDK raises what it likes; all of it means this
            raise SandboxUnavailable(f"{self.name} gave no machine: {error}") from error
        try:
            link = await self._start(machine, template, lifetime)
            greeting = Greeting.model_validate(await link.ask({"do": "hello"}, tries=TRIES))
            for layer in template.layers:
                await moving.send(link, layer.source, layer.target, frozen=layer.mode == "read")
            await ask(link, Nothing, "mark")
        except (SandboxLost, ValueError) as error:
            await machine.end()
            raise SandboxUnavailable(f"{self.name} can't make a sandbox: {error}") from error
        except BaseException:
            await asyncio.shield(machine.end())
            raise
        return WardenSandbox(
            link,
            template,
            environment=_environment(greeting, template),
            isolation=Isolation(
                provider=self.name,
                kernel_uid=greeting.kernel_uid(),
                memory="rlimit+watchdog",
                processes="rlimit",
                seccomp=greeting.seccomp,
                network=template.network,
            ),
            reopen=lambda: self.open(template, label=label),
        )

    async def reap(self, label: str | None = None, older_than: float = 0) -> int:
        """See `contract.Provider.reap`. What another computer has left is removed when its time is over."""
        count = 0
        for identity, text in await self.vendor.tags():
            tag = Tag.read(text)
            if tag and tag.unwanted(label=label, older_than=older_than, here=False):
                await self.vendor.remove(identity)
                count += 1
        return count

    @asynccontextmanager
    async def stage(self, source: Path, *, layer: bool = False) -> AsyncGenerator[Path]:
        """See `contract.Provider.stage`. The copy is sent when a sandbox is opened with it."""
        staged = await asyncio.to_thread(staging.stage, source, owner=None, layer=layer)
        try:
            yield staged.folder
        finally:
            await asyncio.shield(asyncio.to_thread(staged.release))

    async def _start(self, machine: Machine, template: Template, lifetime: float) -> BridgeLink:
        """Start a warden, as root if the machine lets us: it is root no longer before anything of an agent runs."""
        limits = template.limits
        socket = f"/tmp/.{secrets.token_hex(8)}/s"  # noqa: S108  # a path on the machine, in a folder of its own
        orders = Orders(
            places=places(template),
            folders=(HOME,),
            limits=resources(replace(limits, file_size=min(limits.file_size, limits.disk)), alone=True),
            lifetime=lifetime,
            uid=UID,
            memory=limits.memory,
            disk=len(places(template)) * limits.disk,
            files=limits.files,
            socket=socket,
        )
        try:
            who = (await machine.run("id -u; sudo -n true 2>/dev/null && echo sudo; true", seconds=START_WAIT)).split()
            prefix = "sudo -n " if who[:1] != ["0"] and who[-1:] == ["sudo"] else ""
            warden = shlex.join(("python3", "-I", "-S", "-B", "-c", program(orders)))
            command = f"cd / && (setsid {prefix}{warden} </dev/null >/dev/null 2>&1 &)"
            await machine.run(command, seconds=START_WAIT)
        except Exception as error:  # an SDK raises what it likes; all of it means this
            raise SandboxLost(f"its machine does not run commands: {error}") from error
        return BridgeLink(machine, prefix, socket)


def _environment(greeting: Greeting, template: Template) -> dict[str, str]:
    fixed = {"PATH": greeting.path, "HOME": HOME, "USER": "agent", "LOGNAME": "agent", "LANG": "C.UTF-8"}
    return fixed | {"TZ": "UTC", "TMPDIR": building.TMP} | dict(template.env)
