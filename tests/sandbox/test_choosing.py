from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.errors import InputError, SandboxUnavailable
from rubricgrade.sandbox.bubblewrap import BubblewrapProvider
from rubricgrade.sandbox.choosing import BUILT_IN, FirstThatWorks, default_provider, named
from rubricgrade.sandbox.contract import Template


class Unable:
    """A provider as it is on a host that can't."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked = 0

    async def open(self, *_: Any, **__: Any) -> Any:
        self.asked += 1
        raise SandboxUnavailable(f"{self.name} is not for here; install a kernel")

    def stage(self, source: Path, **_: Any) -> Any:
        return nullcontext(source)

    async def reap(self, *_: Any) -> int:
        return 0


def first(*providers: Any) -> FirstThatWorks:
    def give(provider: Any) -> Callable[[], Any]:
        return lambda: provider

    return FirstThatWorks([give(provider) for provider in providers])


def test_the_first_that_works_is_taken_and_stays() -> None:
    unable = Unable("cave")
    chosen = first(unable, BubblewrapProvider(), Unable("last"))

    async def main() -> None:
        for _ in range(2):
            sandbox = await chosen.open(Template())
            assert (await sandbox.exec(["true"])).ok
            await sandbox.close()

    assert chosen.name == "cave"
    asyncio.run(main())
    assert chosen.name == "bubblewrap"
    assert unable.asked == 1


def test_when_none_works_each_says_why() -> None:
    with pytest.raises(SandboxUnavailable, match=r"cave: .*install a kernel; moon: .*install a kernel$"):
        asyncio.run(first(Unable("cave"), Unable("moon")).open(Template()))


def test_a_host_without_engines_is_told_of_them() -> None:
    with pytest.raises(SandboxUnavailable, match="podman and docker, which would do instead, are not installed"):
        asyncio.run(first(Unable("cave")).open(Template()))


def test_an_engine_that_does_not_answer_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxUnavailable, match="docker is not installed"):
        asyncio.run(named("docker").open(Template()))
    (tmp_path / "docker").write_text("#!/bin/sh\necho no daemon >&2\nexit 1\n")
    (tmp_path / "docker").chmod(0o755)
    with pytest.raises(SandboxUnavailable, match=r"docker can't be used here: .*no daemon"):
        asyncio.run(named("docker").open(Template()))


def test_the_default_is_bubblewrap_first() -> None:
    assert default_provider().name == "bubblewrap"


@pytest.mark.parametrize("name", ["bubblewrap", "docker", "podman"])
def test_a_local_provider_is_found_by_its_name(name: str) -> None:
    assert named(name).name == name


def test_a_name_that_is_none_is_told_the_others() -> None:
    with pytest.raises(InputError, match=f"'lxc'; there are {', '.join(BUILT_IN)}"):
        named("lxc")
