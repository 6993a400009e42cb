"""How a live sandbox takes commands, whoever runs them: what was asked is made complete, fed, and waited for."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Generic, Protocol, TypeVar

from rubricgrade import tree
from rubricgrade.sandbox.contract import Done, Isolation, MiB, Process, Template


class Running(Process, Protocol):
    """A command that was started, seen by who runs it."""

    async def feed(self, data: bytes) -> None:
        """Write all of its input, as far as it wants it, and close that."""
        ...

    async def wait(self) -> Done:
        """Wait for its end with its input left as it is."""
        ...


P = TypeVar("P", bound=Running)


@dataclass(frozen=True, slots=True)
class Asked:
    """A command with nothing left open.

    Attributes:
        argv: Program and arguments.
        environment: All of it.
        folder: Absolute path where it starts.
        timeout: Seconds until it is killed.
        limit: Bytes kept of each stream.
        talk: Whether it gets an input.
    """

    argv: list[str]
    environment: dict[str, str]
    folder: str
    timeout: float
    limit: int
    talk: bool


class Commanded(ABC, Generic[P]):
    """The part of `contract.Sandbox` that is the same for all of ours."""

    def __init__(self, template: Template, *, environment: dict[str, str], isolation: Isolation) -> None:
        """Take charge of a sandbox that runs.

        Args:
            template: What it was opened from.
            environment: Of every process in it.
            isolation: What holds in it.
        """
        self._template = template
        self._environment = environment
        self._isolation = isolation

    @property
    def isolation(self) -> Isolation:
        """What holds here."""
        return self._isolation

    @property
    def template(self) -> Template:
        """What it was opened from."""
        return self._template

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
        """See `contract.Sandbox.exec`."""
        if user is not None:
            raise ValueError("this sandbox has one user only")
        process = await self._spawn(argv, cwd, env, timeout, limit, talk=bool(stdin))
        if isinstance(process, Done):
            return process
        feeding = asyncio.ensure_future(process.feed(stdin)) if stdin else None
        try:
            return await process.wait()
        finally:
            if feeding:
                feeding.cancel()
                await asyncio.gather(feeding, return_exceptions=True)  # what the command did not take, it did not want

    async def start(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float = 120,  # noqa: ASYNC109  # a limit that is part of the contract: reaching it is a result
        limit: int = MiB,
    ) -> P:
        """See `contract.Sandbox.start`."""
        process = await self._spawn(argv, cwd, env, timeout, limit, talk=True)
        if isinstance(process, Done):
            raise ValueError(process.error)  # noqa: TRY004  # what is wrong is the request
        return process

    @abstractmethod
    async def _begin(self, asked: Asked) -> P | Done:
        """Start a command; a `Done` says why that can't be."""

    async def _spawn(
        self,
        argv: Sequence[str],
        cwd: str | None,
        env: Mapping[str, str] | None,
        timeout: float,  # noqa: ASYNC109  # a limit that is part of the contract: reaching it is a result
        limit: int,
        *,
        talk: bool,
    ) -> P | Done:
        words = [str(word) for word in argv]
        environment = self._environment | dict(env or {})
        if not words or any("\0" in text for text in (*words, *environment, *environment.values())):
            return Done(-1, error="not a command: empty, or with a NUL character")
        return await self._begin(Asked(words, environment, self._absolute(cwd or ""), timeout, limit, talk))

    def _absolute(self, path: str) -> str:
        return str(PurePosixPath(self._template.workdir, path))

    def _budget(self) -> tree.Budget:
        limits = self._template.limits
        # Sparse files count by their apparent size, so that more may be seen than there is room for.
        return tree.Budget(entries=limits.files, total=4 * limits.disk, file=limits.file_size)
