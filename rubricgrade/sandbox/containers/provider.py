"""Makes sandboxes by docker or podman: a container each, with a warden as its first process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from rubricgrade.errors import SandboxError, SandboxLost, SandboxUnavailable, TemplateError
from rubricgrade.sandbox import building, interior, staging, state
from rubricgrade.sandbox.bubblewrap import environment
from rubricgrade.sandbox.containers.engine import SKELETON, Engine, Facts, confinement, mounts, user
from rubricgrade.sandbox.containers.link import PipeLink
from rubricgrade.sandbox.contract import Isolation, Template
from rubricgrade.sandbox.warden import Greeting, Orders, WardenSandbox, moving, program
from rubricgrade.sandbox.warden.asking import Nothing, ask
from rubricgrade.sandbox.warden.bundle import HOME, places, resources
from rubricgrade.sandbox.warden.tag import Tag, new_tag

BARE = interior.Interior(base=Path(), binds=(), links=(), python="python3", path="")
"""What of this host's shows in a container that is made of an image."""


class ContainerProvider:
    """See `contract.Provider`.

    Without an image a container shows this host's own programs, exactly as a bubblewrap sandbox does, so that nothing
    has to be fetched. An image must be there already, with Python 3.11 and, for checks by code, this package.

    Attributes:
        name: ``docker`` or ``podman``.
        engine: The command line in use.
    """

    def __init__(self, engine: Engine | None = None, *, image: str = "") -> None:
        """Make a provider; nothing is touched before the first `open`.

        Args:
            engine: The command line to use; default: docker.
            image: What containers are made of when the template does not say; empty: this host's own system (Linux).
        """
        self.engine = engine or Engine()
        self.name = Path(self.engine.command[0]).name
        self._image = image
        self._facts: Facts | None = None
        self._interior: interior.Interior | None = None

    async def open(self, template: Template, *, label: str = "") -> WardenSandbox:
        """See `contract.Provider.open`."""
        building.refuse_allowed_hosts(template, self.name)
        if building.has_root(template):
            raise TemplateError("a container has no root file system but its image's: name an image instead")
        facts = await self._examine()
        image = template.image or self._image
        inside = BARE if image else await self._host()
        building.check(replace(template, image=""), inside, user(facts))
        name = new_tag(label, template.limits.lifetime)
        argv = [*self.engine.command, "run", "--rm", "--interactive", "--pull", "never", "--name", name]
        argv += ["--label", f"rubricgrade={label}", "--entrypoint", "", *confinement(facts, template), *mounts(inside)]
        argv += [image or SKELETON, inside.python]
        argv += ["-I", "-S", "-B", "-c", program(_orders(facts, template))]
        link = await PipeLink.start(argv, state.root(), lambda: self._remove(name), inside.is_whole)
        try:
            greeting = await ask(link, Greeting, "hello")
            for layer in template.layers:
                if layer.mode == "overlay":
                    await moving.send(link, layer.source, layer.target)
            await ask(link, Nothing, "mark")
        except SandboxLost as error:
            await link.close()
            raise SandboxUnavailable(f"{self.name} can't make a sandbox here: {error}") from error
        except BaseException:
            await link.close()
            raise
        fixed = environment(replace(inside, path=inside.path or greeting.path), template)
        isolation = self._isolation(facts, greeting, template)
        return WardenSandbox(
            link, template, environment=fixed, isolation=isolation, reopen=lambda: self.open(template, label=label)
        )

    async def reap(self, label: str | None = None, older_than: float = 0) -> int:
        """See `contract.Provider.reap`."""
        listed = await self.engine.call("ps", "--all", "--filter", "label=rubricgrade", "--format", "{{.Names}}")
        count = 0
        for name in listed.split():
            tag = Tag.read(name)
            if tag and tag.unwanted(label=label, older_than=older_than, here=True):
                await self._remove(name)
                count += 1
        return count

    @asynccontextmanager
    async def stage(self, source: Path, *, layer: bool = False) -> AsyncGenerator[Path]:
        """See `contract.Provider.stage`."""
        owner = user(await self._examine()) if os.geteuid() == 0 else None
        staged = await asyncio.to_thread(staging.stage, source, owner=owner, layer=layer)
        try:
            yield staged.folder
        finally:
            await asyncio.shield(asyncio.to_thread(staged.release))

    async def _examine(self) -> Facts:
        """Find out once what the engine can do."""
        if self._facts is None:
            facts = await self.engine.facts()
            if facts.rootless and facts.name == "docker":
                raise SandboxUnavailable(
                    "rootless docker maps users so that it can't read what is staged for it; use rootless podman"
                )
            self._facts = facts
        return self._facts

    async def _host(self) -> interior.Interior:
        """What of this host shows in a container without an image; made ready once."""
        if self._interior is None or not self._interior.is_whole():
            if sys.platform != "linux":
                raise SandboxUnavailable("on this system a container needs an image with Python: name one")
            prepared = await asyncio.to_thread(lambda: interior.prepare(state.root()))
            await self.engine.make_skeleton(prepared)
            self._interior = prepared
        return self._interior

    def _isolation(self, facts: Facts, greeting: Greeting, template: Template) -> Isolation:
        return Isolation(
            provider=self.name,
            kernel_uid=greeting.kernel_uid(),
            memory=(facts.limits and greeting.group) or "rlimit+watchdog",
            processes=(facts.limits and greeting.group) or "rlimit",
            seccomp=greeting.seccomp,
            network=template.network,
        )

    async def _remove(self, name: str) -> None:
        with contextlib.suppress(SandboxError):  # it has gone meanwhile
            await self.engine.call("rm", "--force", "--volumes", name)


def _orders(facts: Facts, template: Template) -> Orders:
    """What the warden has to see to: all that the engine does not."""
    limits = template.limits
    return Orders(
        places=places(template),
        folders=(HOME,),
        limits=resources(limits, alone=not facts.limits),
        lifetime=limits.lifetime,
        uid=user(facts),
        memory=0 if facts.limits else limits.memory,
        disk=0 if facts.counts_files else len(places(template)) * limits.disk,
        files=0 if facts.counts_files else limits.files,
    )
