"""Which provider is used: the one that was named, else the first of bubblewrap, podman and docker that works here.

There is no silent downgrade: each of them keeps the whole contract, and what really holds stands in every grade.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from rubricgrade.errors import InputError, SandboxUnavailable
from rubricgrade.sandbox.bubblewrap import BubblewrapProvider
from rubricgrade.sandbox.contract import Provider, Sandbox, Template


def _docker() -> Provider:
    from rubricgrade.sandbox.containers import ContainerProvider, Engine  # noqa: PLC0415  # only for who needs it

    return ContainerProvider(Engine(("docker",)))


def _podman() -> Provider:
    from rubricgrade.sandbox.containers import ContainerProvider, Engine  # noqa: PLC0415  # only for who needs it

    return ContainerProvider(Engine(("podman",)))


def _hosted(name: str) -> Callable[[], Provider]:
    def make() -> Provider:
        from rubricgrade.sandbox import hosted  # noqa: PLC0415  # only for who needs it

        return hosted.provider(name)

    return make


BUILT_IN: Mapping[str, Callable[[], Provider]] = {
    "bubblewrap": BubblewrapProvider,
    "podman": _podman,
    "docker": _docker,
    "e2b": _hosted("e2b"),
    "modal": _hosted("modal"),
    "daytona": _hosted("daytona"),
    "superserve": _hosted("superserve"),
    "archil": _hosted("archil"),
}
"""Every provider by its name, the local ones in the order in which they are tried."""
LOCAL = ("bubblewrap", "podman", "docker")


def named(name: str) -> Provider:
    """The provider of that name; nothing is touched before its first use.

    Raises:
        InputError: There is none; names those that there are.
        MissingExtraError: Its vendor's package is not installed.
    """
    if name not in BUILT_IN:
        raise InputError(f"there is no sandbox provider {name!r}; there are {', '.join(BUILT_IN)}")
    return BUILT_IN[name]()


def default_provider() -> Provider:
    """The provider for who did not choose one: it finds out on first use what works on this host."""
    return FirstThatWorks([BUILT_IN[name] for name in LOCAL if name == "bubblewrap" or shutil.which(name)])


class FirstThatWorks:
    """A provider that is the first of several that can make a sandbox here. See `contract.Provider`.

    Attributes:
        name: The name of the one in use; of the first one, until it is known which one works.
    """

    def __init__(self, candidates: Sequence[Callable[[], Provider]]) -> None:
        """Take providers in the order of preference; the second one is not made if the first one works."""
        self._candidates = candidates
        self._first = candidates[0]()
        self._chosen: Provider | None = None
        self.name = self._first.name

    async def open(self, template: Template, *, label: str = "") -> Sandbox:
        """See `contract.Provider.open`. The first sandbox that is asked for decides which provider is used."""
        if self._chosen:
            return await self._chosen.open(template, label=label)
        reasons: list[str] = []
        for number, make in enumerate(self._candidates):
            provider = make() if number else self._first
            try:
                sandbox = await provider.open(template, label=label)
            except SandboxUnavailable as error:
                if error.short:
                    raise  # it works here: who is asked next would be no cure, and stay in use for good
                reasons.append(f"{provider.name}: {error}")
                continue
            self._chosen, self.name = provider, provider.name
            return sandbox
        if len(reasons) == 1:
            reasons.append("podman and docker, which would do instead, are not installed")
        raise SandboxUnavailable("; ".join(reasons))

    @asynccontextmanager
    async def stage(self, source: Path, *, layer: bool = False) -> AsyncGenerator[Path]:
        """See `contract.Provider.stage`: all local providers make the same of it."""
        async with (self._chosen or self._first).stage(source, layer=layer) as folder:
            yield folder

    async def reap(self, label: str | None = None, older_than: float = 0) -> int:
        """See `contract.Provider.reap`; of the provider in use only."""
        return await (self._chosen or self._first).reap(label, older_than)
