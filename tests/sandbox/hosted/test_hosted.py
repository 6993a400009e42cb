"""Every hosted provider keeps the contract, by its vendor's real SDK against a local stand-in for the service."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rubricgrade import tree
from rubricgrade.errors import MissingExtraError, SandboxLost, SandboxUnavailable, TemplateError
from rubricgrade.sandbox import conformance, hosted
from rubricgrade.sandbox.contract import Layer, Limits, Template
from rubricgrade.sandbox.hosted.machine import sdk
from rubricgrade.sandbox.warden.tag import new_tag
from tests.sandbox.hosted.cloud import Cloud

pytestmark = [
    pytest.mark.hosted,
    pytest.mark.timeout(300),
    # Vendors' own code, which is not ours to mend.
    pytest.mark.filterwarnings(
        "ignore:::(e2b|daytona|archil|modal|superserve|synchronicity|httpx|pydantic|websockets)"
    ),
]
Check = Callable[[hosted.HostedProvider], Coroutine[Any, Any, None]]


@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
def test_the_contract_is_kept(provider: hosted.HostedProvider, cloud: Cloud, check: Check) -> None:
    asyncio.run(check(provider))
    assert not cloud.machines, "a machine was left behind"


def test_machines_have_no_network_and_end_by_themselves(provider: hosted.HostedProvider, cloud: Cloud) -> None:
    async def main() -> dict[str, Any]:
        sandbox = await provider.open(Template(limits=replace(Limits(), lifetime=600)))
        asked = next(iter(cloud.asked[identity] for identity in cloud.machines))
        await sandbox.close()
        return asked

    provider.vendor.ttl = 900
    asked = asyncio.run(main())
    closed, time_to_live = {
        "archil": (lambda: asked["network"] == {"egress": {"default": "deny"}}, "max_ttl_seconds"),
        "daytona": (lambda: asked["networkBlockAll"] is True, "ttlMinutes"),
        "e2b": (lambda: asked["allow_internet_access"] is False, "timeout"),
        "modal": (lambda: asked["network"] == asked["blocked"], "timeout"),
        "superserve": (lambda: asked["network"]["deny_out"] == ["0.0.0.0/0"], "timeout_seconds"),
    }[provider.name]
    assert closed()
    assert asked[time_to_live] == (15 if provider.name == "daytona" else 900)


def test_layers_are_sent_and_changes_come_back(provider: hosted.HostedProvider, tmp_path: Path) -> None:
    (tmp_path / "left" / "deep").mkdir(parents=True)
    (tmp_path / "left" / "deep" / "big").write_bytes(b"0123456789" * 30_000)
    (tmp_path / "left" / "gone").write_text("x")
    (tmp_path / "left" / "way").symlink_to("deep/big")

    async def main() -> tree.Listing:
        async with provider.stage(tmp_path / "left") as folder:
            sandbox = await provider.open(Template(layers=(Layer(folder, "/work", "overlay"),)))
            try:
                assert await sandbox.read("deep/big") == b"0123456789" * 30_000
                assert (
                    await sandbox.exec(["sh", "-c", "rm gone; echo new > deep/new; readlink way"])
                ).stdout == b"deep/big\n"
                return await sandbox.snapshot(tmp_path / "archive")
            finally:
                await sandbox.close()

    listing = asyncio.run(main())
    assert [(entry.path, entry.kind) for entry in listing.entries] == [
        ("deep", "folder"), ("deep/new", "file"), ("gone", "deleted"),
    ]  # fmt: skip


def test_a_service_that_fails_is_the_graders_fault(provider: hosted.HostedProvider, cloud: Cloud) -> None:
    async def main() -> None:
        sandbox = await provider.open(Template())
        cloud.broken = True
        with pytest.raises(SandboxLost):
            await sandbox.exec(["true"])
        cloud.broken = False
        await sandbox.close()
        cloud.broken = True
        with pytest.raises(SandboxUnavailable):
            await provider.open(Template())

    asyncio.run(main())
    assert not cloud.machines


def test_a_root_file_system_can_not_be_sent(provider: hosted.HostedProvider, tmp_path: Path) -> None:
    with pytest.raises(TemplateError):
        asyncio.run(provider.open(Template(layers=(Layer(tmp_path, "/", "overlay"),))))


def test_reaping_takes_what_dead_owners_left_and_nothing_else(
    provider: hosted.HostedProvider, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> tuple[int, int, int]:
        alive = await provider.open(Template(), label="mine")
        with monkeypatch.context() as patched:
            # A tag as a process leaves it that has died since: its number is another's now.
            patched.setattr("rubricgrade.sandbox.warden.tag.began", lambda _pid: 1)
            dead = new_tag("mine", 600)
        await provider.vendor.create(Template(), dead)
        others = await provider.reap("not mine")
        too_young = await provider.reap("mine", older_than=3600)
        reaped = await provider.reap("mine")
        assert (await alive.exec(["true"])).ok
        await alive.close()
        return others, too_young, reaped

    assert asyncio.run(main()) == (0, 0, 1)
    assert not cloud.machines


def test_an_absent_sdk_says_what_to_install() -> None:
    with pytest.raises(MissingExtraError, match=r"pip install 'rubricgrade\[nowhere\]'"):
        sdk("no_such_package_anywhere", "nowhere")
