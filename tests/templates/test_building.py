"""Templates built for real: what forks of them show, what a failed build leaves, and that none is built twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.errors import TemplateError
from rubricgrade.sandbox import BubblewrapProvider
from rubricgrade.sandbox.live import BubblewrapSandbox
from rubricgrade.templates import Built, Store, build, load_source
from tests.templates.made import template

Work = Callable[[BubblewrapSandbox], Awaitable[Any]]


async def in_fork(store: Store, provider: BubblewrapProvider, built: Built, work: Work) -> Any:
    async with store.use(built.digest) as found:
        assert found is not None
        sandbox = await provider.open(found, label="test")
        try:
            return await work(sandbox)
        finally:
            await sandbox.close()


async def said(store: Store, provider: BubblewrapProvider, built: Built, script: str) -> str:
    done = await in_fork(store, provider, built, lambda sandbox: sandbox.exec(["sh", "-c", script]))
    return (done.stdout + done.stderr).decode()


TEXT = """
files:
  - {from: start}
  - {from: more.txt, to: deep/er/most.txt}
  - {from: start, to: copy}
  - {from: tables, to: /data/tables}
setup: setup.sh
env: {MODE: from template}
workdir: /home/agent/project
"""
FILES = {
    "start/a": "a",
    "start/doomed": "d",
    "more.txt": "more",
    "tables/t.csv": "1,2\n",
    "setup.sh": 'echo "$MODE" > made; rm doomed; rm -r copy; mkdir copy; cp /data/tables/t.csv copy; chmod 755 made\n',
}


def test_a_fork_shows_files_and_what_the_script_made_of_them(
    store: Store, provider: BubblewrapProvider, tmp_path: Path
) -> None:
    async def main() -> None:
        built, fresh = await build(load_source(template(tmp_path / "t", TEXT, FILES)), store, provider=provider)
        assert fresh
        seen = await said(store, provider, built, "pwd; find . -type f | sort; cat made deep/er/most.txt copy/*")
        assert seen == ("/home/agent/project\n./a\n./copy/t.csv\n./deep/er/most.txt\n./made\nfrom template\nmore1,2\n")
        assert "Read-only" in await said(store, provider, built, "echo x > /data/tables/t.csv")
        assert await said(store, provider, built, "echo changed > a; rm made; cat a") == "changed\n"
        assert await said(store, provider, built, "cat a; test -x made && echo kept") == "akept\n"

    asyncio.run(main())


def test_it_is_built_once_and_a_changed_one_is_a_new_one(
    store: Store, provider: BubblewrapProvider, tmp_path: Path
) -> None:
    async def main() -> None:
        folder = template(tmp_path / "t", TEXT, FILES)
        first, _ = await build(load_source(folder), store, provider=provider)
        again, fresh = await build(load_source(folder), store, provider=provider)
        assert (again, fresh) == (first, False)
        (folder / "start/a").write_text("other")
        second, fresh = await build(load_source(folder), store, provider=provider)
        assert fresh
        assert second.digest != first.digest
        assert await said(store, provider, first, "cat a") == "a"
        assert await said(store, provider, second, "cat a") == "other"

    asyncio.run(main())


def test_two_builders_at_once_make_one_template(store: Store, provider: BubblewrapProvider, tmp_path: Path) -> None:
    source = load_source(template(tmp_path / "t", "setup: s.sh", {"s.sh": "head -c 8 /dev/urandom | od > id"}))

    async def main() -> None:
        results = await asyncio.gather(*(build(source, store, provider=provider) for _ in range(2)))
        assert sorted(fresh for _, fresh in results) == [False, True]
        assert results[0][0] == results[1][0]

    asyncio.run(main())


FAILING = [
    ("echo out; echo complaint >&2; exit 3", r"exit code 3.*out\ncomplaint"),
    ("false; true", "exit code 1"),
    ("echo $UNSET_VARIABLE", "(?i)unset|not set"),
    ("sleep 60", "no end after 1 s"),
    ("mkfifo pipe", "left 'pipe': FIFO"),
    ("python3 -c \"import socket; socket.create_connection(('1.1.1.1', 53), 5)\"", "(?i)unreachable"),
]


@pytest.mark.parametrize(("script", "says"), FAILING)
def test_a_script_that_fails_leaves_no_template(
    store: Store, provider: BubblewrapProvider, tmp_path: Path, script: str, says: str
) -> None:
    text = f"setup: {{script: s.sh, timeout: {1 if 'sleep' in script else 60}}}\n"
    source = load_source(template(tmp_path / "t", text, {"s.sh": script + "\n"}))
    with pytest.raises(TemplateError, match="(?s)" + says):
        asyncio.run(build(source, store, provider=provider))
    assert store.all() == []
    assert not list(store.folder.glob(".making-*"))


def test_a_script_may_say_much(store: Store, provider: BubblewrapProvider, tmp_path: Path) -> None:
    files = {"s.sh": "head -c 3000000 /dev/zero; head -c 300000 /dev/zero >&2\n"}
    source = load_source(template(tmp_path / "t", "setup: s.sh\n", files))
    assert asyncio.run(build(source, store, provider=provider))[1]


def test_missing_programs_are_all_named(store: Store, provider: BubblewrapProvider, tmp_path: Path) -> None:
    source = load_source(template(tmp_path / "t", "requires: {programs: [sh, no-such-a, no-such-b]}"))
    with pytest.raises(TemplateError) as caught:
        asyncio.run(build(source, store, provider=provider))
    assert [fault.message.split("'")[1] for fault in caught.value.faults] == ["no-such-a", "no-such-b"]
    assert store.all() == []


class Meddling(BubblewrapProvider):
    """A provider during whose work somebody edits the template's files."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file

    async def open(self, *arguments: Any, **options: Any) -> BubblewrapSandbox:
        self.file.write_text("edited")
        return await super().open(*arguments, **options)


def test_files_that_change_meanwhile_are_noticed(store: Store, tmp_path: Path) -> None:
    source = load_source(template(tmp_path / "t", "files: f\nsetup: s.sh\n", {"f/a": "1", "s.sh": "true\n"}))
    with pytest.raises(TemplateError, match="was changed while it was built"):
        asyncio.run(build(source, store, provider=Meddling(tmp_path / "t/f/a")))
    assert store.all() == []


def test_a_container_image_is_for_container_providers(
    store: Store, provider: BubblewrapProvider, tmp_path: Path
) -> None:
    async def main() -> None:
        built, _ = await build(
            load_source(template(tmp_path / "t", "base: {image: 'debian:12'}")), store, provider=provider
        )
        assert built.image == "debian:12"
        assert "without @sha256" in built.notes[0]
        with pytest.raises(TemplateError, match="made for 'debian:12'"):
            await said(store, provider, built, "true")

    asyncio.run(main())


def test_the_network_is_only_there_for_those_who_ask_and_is_written_down(
    store: Store, provider: BubblewrapProvider, tmp_path: Path
) -> None:
    async def main() -> None:
        text = "network: host\nsetup: {script: s.sh, network: host}\n"
        script = {"s.sh": "cat /proc/net/dev > devices\n"}
        built, _ = await build(load_source(template(tmp_path / "t", text, script)), store, provider=provider)
        assert len(built.notes) == 2
        isolation = await in_fork(store, provider, built, _isolation)
        assert isolation.network == "host"

    asyncio.run(main())


def test_a_list_of_allowed_hosts_holds_for_forks_and_for_the_script_that_asks_for_it(
    store: Store, provider: BubblewrapProvider, tmp_path: Path
) -> None:
    async def main() -> None:
        text = "network: {allow: [b.test, 'a.test:8443']}\nsetup: {script: s.sh, network: {allow: [c.test]}}\n"
        script = {"s.sh": "env | grep -c _proxy > proxies\n"}
        built, _ = await build(load_source(template(tmp_path / "t", text, script)), store, provider=provider)
        assert (built.network, built.allow) == ("none", ("b.test", "a.test:8443"))
        assert built.notes[0] == "its forks reach, by HTTP and HTTPS: b.test, a.test:8443"
        assert "had the network" in built.notes[1]
        isolation = await in_fork(store, provider, built, _isolation)
        assert isolation.network == "only b.test, a.test:8443"
        assert await said(store, provider, built, "cat proxies; env | grep -c _proxy") == "3\n3\n"

    asyncio.run(main())


async def _isolation(sandbox: BubblewrapSandbox) -> Any:
    return sandbox.isolation


def test_limits_hold_in_forks(store: Store, provider: BubblewrapProvider, tmp_path: Path) -> None:
    async def main() -> None:
        source = load_source(template(tmp_path / "t", "limits: {disk: 1 MiB, file_size: 2 MiB}"))
        built, _ = await build(source, store, provider=provider)
        assert "No space left" in await said(store, provider, built, "head -c 1500000 /dev/zero > big")

    asyncio.run(main())
