"""The provider passes the suite that ships in the package, and the suite notices one that does not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from rubricgrade.sandbox import BubblewrapProvider, Done, Provider, Template
from rubricgrade.sandbox.conformance import CHECKS, ConformanceError, run
from rubricgrade.sandbox.live import BubblewrapSandbox


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_bubblewrap_conforms(provider: BubblewrapProvider, check: Callable[[Provider], Awaitable[None]]) -> None:
    asyncio.run(check(provider))  # type: ignore[arg-type]


class Liar:
    """A real sandbox whose commands always succeed, whose files have grown, and whose forks are itself."""

    def __init__(self, real: BubblewrapSandbox) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def exec(self, argv: list[str], **options: Any) -> Done:
        done = await self._real.exec(argv, **options)
        return replace(done, code=0, stdout=done.stdout + b"!", timed_out=False, flooded=False, error="")

    async def read(self, path: str, **options: Any) -> bytes:
        return await self._real.read(path, **options) + b"!"

    async def fork(self) -> Liar:
        return Liar(self._real)


class LyingProvider:
    name = "bubblewrap"

    def __init__(self, real: BubblewrapProvider) -> None:
        self._real = real

    async def open(self, template: Template, *, label: str = "") -> Any:
        return Liar(await self._real.open(template, label=label))

    async def reap(self, *_: Any) -> int:
        return 0


LIES = (
    "exit_codes", "arguments", "environment_and_folder", "unknown_program", "time_limit", "output_limit", "files", "forks",
    "template_forks", "no_network", "memory_limit", "process_limit", "disk_limit",
)  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_a_provider_that_lies_is_found_out(provider: BubblewrapProvider, name: str) -> None:
    check = next(check for check in CHECKS if getattr(check, "__name__", "") == name)
    with pytest.raises(ConformanceError):
        asyncio.run(check(LyingProvider(provider)))  # type: ignore[arg-type]


class Absent:
    name = "absent"

    async def open(self, *_: Any, **__: Any) -> Any:
        raise OSError("nobody home")

    async def reap(self, *_: Any) -> int:
        return 0


def test_every_check_that_could_not_be_made_has_failed() -> None:
    results = asyncio.run(run(Absent()))  # type: ignore[arg-type]
    assert len(results) == len(CHECKS)
    assert {result.problem for result in results} == {"nobody home"}
