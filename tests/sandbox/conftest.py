"""The real provider, and one sandbox per test on its own event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.sandbox import BubblewrapProvider, base_template
from rubricgrade.sandbox.live import BubblewrapSandbox


@pytest.fixture(scope="session")
def provider() -> BubblewrapProvider:
    return BubblewrapProvider()


Use = Callable[..., Any]


@pytest.fixture
def use(provider: BubblewrapProvider) -> Use:
    """`use(work, **template)` opens a sandbox, awaits `work(sandbox)`, closes it, and returns what work returned."""

    def run(work: Callable[[BubblewrapSandbox], Awaitable[Any]], **template: Any) -> Any:
        async def main() -> Any:
            async with opened(provider, **template) as sandbox:
                return await work(sandbox)

        return asyncio.run(main())

    return run


@asynccontextmanager
async def opened(provider: BubblewrapProvider, **template: Any) -> AsyncGenerator[BubblewrapSandbox]:
    sandbox = await provider.open(base_template(**template), label="test")
    try:
        yield sandbox
    finally:
        await sandbox.close()


def shell(sandbox: BubblewrapSandbox, script: str, **options: Any) -> Awaitable[Any]:
    return sandbox.exec(["sh", "-c", script], **options)


def python(sandbox: BubblewrapSandbox, script: str, **options: Any) -> Awaitable[Any]:
    return sandbox.exec(["python3", "-c", script], **options)


def inside_of(namespace: str) -> set[int]:
    """Processes on the host that are in the pid namespace of that name."""
    found: set[int] = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if str((folder / "ns/pid").readlink()) == namespace:
                    found.add(int(folder.name))
            except OSError:
                continue
    return found


def born(pid: int) -> tuple[int, str]:
    """A process and when it was started: its number alone may be another's later. Empty when it has gone."""
    try:
        return pid, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return pid, ""
