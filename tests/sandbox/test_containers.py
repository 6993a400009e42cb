"""Containers keep the contract, on real engines: `make test-containers`."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from rubricgrade import agrade, tree
from rubricgrade.errors import SandboxLost, SandboxUnavailable, TemplateError
from rubricgrade.sandbox import conformance
from rubricgrade.sandbox.containers import ContainerProvider, Engine
from rubricgrade.sandbox.contract import Layer, Sandbox, Template
from rubricgrade.sandbox.warden.tag import new_tag
from tests.grading.episodes import episode, rubric
from tests.sandbox.engines import ENGINES, IMAGE, small_system

pytestmark = [pytest.mark.containers, pytest.mark.timeout(300)]
Check = Callable[[ContainerProvider], Coroutine[Any, Any, None]]


@pytest.fixture(scope="session", params=sorted(ENGINES))
def command(request: pytest.FixtureRequest) -> Iterator[tuple[str, ...]]:
    with ExitStack() as stack:
        yield stack.enter_context(ENGINES[request.param]())


@pytest.fixture
def provider(command: tuple[str, ...]) -> ContainerProvider:
    return ContainerProvider(Engine(command))


@pytest.fixture(scope="session")
def image(command: tuple[str, ...]) -> str:
    subprocess.run([*command, "import", small_system(), IMAGE], check=True, capture_output=True)
    return IMAGE


def containers(command: tuple[str, ...]) -> list[str]:
    said = subprocess.run(
        [*command, "ps", "--all", "--format", "{{.Names}}"], check=True, capture_output=True, text=True
    )
    return said.stdout.split()


def use(
    provider: ContainerProvider, work: Callable[[Sandbox], Awaitable[Any]], template: Template | None = None
) -> Any:
    async def main() -> Any:
        sandbox = await provider.open(template or Template(), label="test")
        try:
            return await work(sandbox)
        finally:
            await sandbox.close()

    return asyncio.run(main())


@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
def test_the_contract_is_kept(provider: ContainerProvider, command: tuple[str, ...], check: Check) -> None:
    asyncio.run(check(provider))
    assert not containers(command), "a container was left behind"


@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
def test_the_contract_is_kept_on_an_image(command: tuple[str, ...], image: str, check: Check) -> None:
    asyncio.run(check(ContainerProvider(Engine(command), image=image)))
    assert not containers(command), "a container was left behind"


def test_an_image_shows_nothing_of_this_host(provider: ContainerProvider, image: str) -> None:
    async def look(sandbox: Sandbox) -> bytes:
        return (await sandbox.exec(["sh", "-c", "ls /opt /home; test -e /usr/bin/bash; echo $?"])).stdout

    assert use(provider, look, Template(image=image)).endswith(b"1\n")


def test_an_image_that_is_not_there_is_not_fetched(provider: ContainerProvider) -> None:
    with pytest.raises(SandboxUnavailable, match="no-such-image"):
        asyncio.run(provider.open(Template(image="localhost/no-such-image:1")))


def test_an_interior_that_was_cleaned_away_ends_the_container_and_is_made_again(
    provider: ContainerProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    alone = ContainerProvider(provider.engine)

    def clean_away() -> None:
        (script,) = tmp_path.glob("sandbox-*/base-*/env/bin/pytest")
        script.unlink()

    async def main() -> None:
        sandbox = await alone.open(Template())
        try:
            assert (await sandbox.exec(["pytest", "--version"])).ok
            clean_away()
            with pytest.raises(SandboxLost, match="were removed"):
                await sandbox.exec(["sh", "-c", "pytest --version || echo 0"])
        finally:
            await sandbox.close()
        again = await alone.open(Template())
        assert (await again.exec(["pytest", "--version"])).ok
        await again.close()

    asyncio.run(main())


def test_confinement(provider: ContainerProvider) -> None:
    async def look(sandbox: Sandbox) -> dict[str, str]:
        status = (await sandbox.exec(["cat", "/proc/self/status"])).stdout.decode()
        for path in ("/usr/x", "/etc/x", "/x", "/opt/env/x"):
            with pytest.raises(OSError, match=r"Read-only|Permission"):
                await sandbox.write(path, b"")
        assert not (await sandbox.exec(["sh", "-c", "kill -9 1; cat /proc/1/environ /proc/1/mem"])).ok
        return dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)

    status = use(provider, look)
    assert status["NoNewPrivs"] == "1"
    assert status["CapBnd"] == status["CapEff"] == "0000000000000000"
    assert status["Seccomp"] == "2"
    assert "0" not in status["Uid"].split()


def test_layers_changes_and_forks(provider: ContainerProvider, tmp_path: Path) -> None:
    left, sealed = tmp_path / "left", tmp_path / "sealed"
    (left / "folder").mkdir(parents=True)
    sealed.mkdir()
    (left / "folder" / "old").write_text("old")
    (left / "gone").write_text("x")
    (left / "kept").write_text("x")
    (sealed / "answer").write_text("42")
    script = (
        "rm gone; echo new > folder/new; mkfifo pipe; ln -s /etc/shadow way; mkdir empty; printf changed > folder/old"
    )

    async def work() -> tuple[tree.Listing, bytes]:
        async with provider.stage(left) as mine, provider.stage(sealed) as other:
            layers = (Layer(mine, "/work", "overlay"), Layer(other, "/sealed"))
            sandbox = await provider.open(Template(layers=layers))
            assert (await sandbox.exec(["sh", "-c", script])).ok
            fork = await sandbox.fork()
            listing = await sandbox.snapshot(tmp_path / "archive")
            await sandbox.snapshot(tmp_path / "same")
            # A pipe does not go along into a fork.
            forked = await fork.snapshot(tmp_path / "forked")
            assert (forked.entries, forked.skipped) == (listing.entries, ())
            with pytest.raises(OSError, match=r"Read-only|Permission"):
                await fork.write("/sealed/answer", b"43")
            with pytest.raises(FileNotFoundError):
                await fork.read("way")
            seen = await fork.exec(["sh", "-c", "cat folder/old /sealed/answer; test -e gone || printf gone"])
            await fork.close()
            await sandbox.close()
        return listing, seen.stdout

    listing, seen = asyncio.run(work())
    assert seen == b"changed42gone"
    assert {(entry.path, entry.kind) for entry in listing.entries} == {
        ("empty", "folder"), ("folder", "folder"), ("folder/new", "file"), ("folder/old", "file"), ("gone", "deleted"),
        ("way", "link"),
    }  # fmt: skip
    assert [(item.path, item.reason) for item in listing.skipped] == [("pipe", "FIFO")]
    assert (tmp_path / "archive").read_bytes() == (tmp_path / "same").read_bytes()

    async def again(sandbox: Sandbox) -> bytes:
        return (await sandbox.exec(["sh", "-c", "cat folder/old; ls"])).stdout

    async def restored() -> bytes:
        async with provider.stage(left) as mine, provider.stage(tmp_path / "archive", layer=True) as top:
            sandbox = await provider.open(
                Template(layers=(Layer(mine, "/work", "overlay"), Layer(top, "/work", "overlay")))
            )
            try:
                return await again(sandbox)
            finally:
                await sandbox.close()

    assert asyncio.run(restored()) == b"changedempty\nfolder\nkept\nway\n"


def test_a_container_that_is_killed_from_outside_is_lost(provider: ContainerProvider, command: tuple[str, ...]) -> None:
    async def main() -> None:
        sandbox = await provider.open(Template())
        running = asyncio.ensure_future(sandbox.exec(["sleep", "300"]))
        await asyncio.sleep(0.5)
        (name,) = containers(command)
        await asyncio.to_thread(subprocess.run, [*command, "rm", "--force", name], check=True, capture_output=True)
        with pytest.raises(SandboxLost):
            await running
        with pytest.raises(SandboxLost):
            await sandbox.read("x")
        await sandbox.close()

    asyncio.run(main())


def test_a_command_that_takes_no_input_ends_all_the_same(provider: ContainerProvider) -> None:
    async def work(sandbox: Sandbox) -> None:
        for _ in range(5):
            assert (await sandbox.exec(["true"], stdin=bytes(5 << 20))).ok
        process = await sandbox.start(["true"])
        assert (await process.finish()).ok
        assert await process.receive() == b""
        with pytest.raises(BrokenPipeError):
            await process.send(b"late")

    use(provider, work)


OWNER = """
import asyncio, sys, time
from rubricgrade.sandbox.containers import ContainerProvider, Engine
from rubricgrade.sandbox.contract import Template
async def main():
    await ContainerProvider(Engine(sys.argv[1:])).open(Template(), label="orphan")
    print("open", flush=True)
    time.sleep(600)
asyncio.run(main())
"""


def test_a_killed_owner_leaves_nothing(command: tuple[str, ...]) -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER, *command], stdout=subprocess.PIPE) as owner:
        assert owner.stdout
        assert owner.stdout.readline() == b"open\n"
        assert len(containers(command)) == 1
        owner.kill()
    for _ in range(100):
        if not containers(command):
            return
        time.sleep(0.1)
    pytest.fail("the container outlived its owner")


def test_reaping_takes_what_dead_owners_left_and_nothing_else(
    provider: ContainerProvider, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> tuple[int, int, int]:
        alive = await provider.open(Template(), label="mine")
        with monkeypatch.context() as patched:
            # A name as a process leaves it that has died since: its number is another's now.
            patched.setattr("rubricgrade.sandbox.warden.tag.began", lambda _pid: 1)
            dead = new_tag("mine", 600)
        made = ["create", "--name", dead, "--label", "rubricgrade=mine", "--network", "none"]
        limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=512:512"]
        await provider.engine.call(*made, *limits, "localhost/rubricgrade-skeleton:1", "true")
        others, too_young = await provider.reap("not mine"), await provider.reap("mine", older_than=3600)
        assert dead in containers(command)
        reaped = await provider.reap("mine")
        assert (await alive.exec(["true"])).ok
        await alive.close()
        return others, too_young, reaped

    assert asyncio.run(main()) == (0, 0, 1)
    assert not containers(command)


def test_a_container_that_runs_out_of_memory_leaves_no_file_where_we_are(
    provider: ContainerProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asyncio.run(conformance.memory_limit(provider))
    assert list(tmp_path.iterdir()) == []


def test_what_a_container_can_not_be_is_said(provider: ContainerProvider, tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="image"):
        asyncio.run(provider.open(Template(layers=(Layer(tmp_path, "/", "overlay"),))))
    with pytest.raises(TemplateError, match="cover or lie in"):
        asyncio.run(provider.open(Template(workdir="/usr/work")))


def test_a_grade_is_the_same_as_by_bubblewrap(provider: ContainerProvider, tmp_path: Path) -> None:
    place = episode(tmp_path / "e", {"calc.py": "def add(a, b):\n    return a + b\n", "out.json": '{"total": 5}'})
    asked = rubric(
        tmp_path / "r",
        {
            "gates": [
                {"id": "runs", "description": "the program adds", "check": {"python": "checks/calc.py:adds"}},
            ],
            "criteria": [
                {
                    "id": "total",
                    "description": "the total is 5",
                    "points": 2,
                    "check": {"python": "checks/calc.py:total"},
                },
                {"id": "six", "description": "the total is 6", "points": 2, "check": {"python": "checks/calc.py:six"}},
            ],
        },
        {
            "checks/calc.py": "def adds(case):\n    return case.solution.call('calc.py:add', 2, 3).value == 5\n"
            "def total(case):\n    return case.read_json('out.json')['total'] == 5\n"
            "def six(case):\n    return case.read_json('out.json')['total'] == 6\n"
        },
    )
    here, there = asyncio.run(agrade(place, asked)), asyncio.run(agrade(place, asked, provider=provider))
    assert there.status == here.status == "graded"
    assert there.score == here.score == 0.5
    assert there.isolation.provider == provider.name
