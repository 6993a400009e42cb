"""The warden and the host's side of it, with no wall around: what the walls are is tested with each provider."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rubricgrade import tree
from rubricgrade.errors import SandboxLost
from rubricgrade.sandbox.containers.link import PipeLink
from rubricgrade.sandbox.contract import Isolation, Template
from rubricgrade.sandbox.warden import Orders, WardenSandbox, moving, program
from rubricgrade.sandbox.warden.asking import Nothing, Numbered, ask
from rubricgrade.sandbox.warden.tag import Tag, new_tag


async def start(place: Path) -> PipeLink:
    orders = Orders((str(place),), (), (), lifetime=120, uid=os.geteuid())
    return await linked([sys.executable, "-I", "-S", "-B", "-c", program(orders)])


async def linked(argv: list[str]) -> PipeLink:
    return await PipeLink.start(argv, Path("/"), lambda: asyncio.sleep(0), lambda: True)


@asynccontextmanager
async def warden(place: Path) -> AsyncGenerator[PipeLink]:
    link = await start(place)
    try:
        yield link
    finally:
        await link.close()


def around(link: PipeLink, place: Path) -> WardenSandbox:
    async def reopen() -> WardenSandbox:
        raise NotImplementedError

    here = Isolation("none", os.geteuid(), "none", "none", seccomp=False, network="host")
    return WardenSandbox(
        link,
        Template(workdir=str(place)),
        environment={"PATH": os.environ["PATH"]},
        isolation=here,
        reopen=reopen,
    )


@pytest.mark.parametrize(
    "script",
    ["echo nonsense", "echo '[]'", "echo '{}'", """echo '{"number": 1, "errno": "x"}'""", "head -c 9437184 /dev/zero"],
)
def test_an_answer_that_is_none_means_that_the_sandbox_is_lost(script: str) -> None:
    async def main() -> None:
        link = await linked(["sh", "-c", f"read x; {script}; cat"])
        with pytest.raises(SandboxLost):
            await ask(link, Numbered, "spawn")
        await link.close()

    asyncio.run(main())


def test_a_command_that_takes_no_input_ends_all_the_same(tmp_path: Path) -> None:
    async def main() -> None:
        async with warden(tmp_path) as link:
            sandbox = around(link, tmp_path)
            for _ in range(5):
                assert (await sandbox.exec(["true"], stdin=bytes(5 << 20))).ok
            process = await sandbox.start(["true"])
            assert (await process.finish()).ok
            assert await process.receive() == b""
            with pytest.raises(BrokenPipeError):
                await process.send(b"late")

    asyncio.run(main())


def test_what_was_not_received_is_output(tmp_path: Path) -> None:
    async def main() -> None:
        async with warden(tmp_path) as link:
            process = await around(link, tmp_path).start(["sh", "-c", "echo one; echo two; read x; echo three"])
            assert await process.receive() == b"one\n"
            await process.send(b"go\n")
            done = await process.finish()
            assert (done.stdout, done.stdout_total) == (b"two\nthree\n", 10)

    asyncio.run(main())


def test_a_cancelled_command_is_killed(tmp_path: Path) -> None:
    async def main() -> None:
        async with warden(tmp_path) as link:
            sandbox = around(link, tmp_path)
            started = await sandbox.start(["sh", "-c", "mkfifo pipe; echo ready; cat pipe"])
            assert await started.receive() == b"ready\n"
            running = asyncio.ensure_future(sandbox.exec(["sh", "-c", "echo $$ > pipe; exec sleep 300"]))
            pid = int(await started.receive())
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert (await sandbox.exec(["true"])).ok
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)

    asyncio.run(main())


NAMES = st.sampled_from(["a", "b", "a/a", "a/b", "b/a", "a/b/a"])
STEPS = st.lists(st.tuples(st.sampled_from(["file", "folder", "link", "remove"]), NAMES), max_size=12)


def carry_out(place: Path, steps: list[tuple[str, str]]) -> None:
    for number, (what, name) in enumerate(steps):
        path = place / name
        if any(above.is_symlink() or not above.is_dir() for above in path.parents if above.is_relative_to(place)):
            continue
        if path.is_symlink() or path.is_file():
            path.unlink()
        elif path.is_dir():
            shutil.rmtree(path)
        if what == "file":
            path.write_text(f"{name} {number}")
        elif what == "folder":
            path.mkdir()
        elif what == "link":
            path.symlink_to(f"to {number}")


FULL = [("folder", "a"), ("file", "a/a"), ("folder", "a/b"), ("file", "a/b/a"), ("link", "b")]


@example(first=FULL, then=[("remove", "a/b/a")])
@example(first=FULL, then=[("folder", "a"), ("file", "a/a")])
@example(first=FULL, then=[("file", "a"), ("folder", "b"), ("file", "b/a")])
@settings(max_examples=20, deadline=None)
@given(first=STEPS, then=STEPS)
def test_changes_applied_to_the_same_base_give_the_same_folder(
    first: list[tuple[str, str]], then: list[tuple[str, str]]
) -> None:
    async def main(folder: Path) -> None:
        one, two, archive = folder / "one", folder / "two", folder / "archive"
        one.mkdir()
        carry_out(one, first)
        shutil.copytree(one, two, symlinks=True)
        async with warden(one) as source, warden(two) as target:
            await ask(source, Nothing, "mark")
            carry_out(one, then)
            filling = await moving.fill(target, str(two))
            async for items in moving.changed(source, str(one), tree.Budget()):
                await filling.add(items)
            await filling.finish()
            listing = await moving.fetch(source, str(one), archive, folder / "scratch", tree.Budget())
        assert tree.digest(two) == tree.digest(one)
        assert listing.entries == tree.unpack(archive, folder / "unpacked", layer=True).entries

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))


class Lying:
    """A link to a warden that tells whatever it was made to."""

    piece = reply = 1000

    def __init__(self, *items: Mapping[str, Any]) -> None:
        self.items = list(items)

    async def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        if request["do"] == "next":
            told, self.items = self.items, []
            return {"items": told}
        return {"handle": 1}

    async def close(self) -> None: ...


@pytest.mark.parametrize(
    "items",
    [
        [{"path": "../out", "kind": "file"}],
        [{"path": "/etc/out", "kind": "file"}],
        [{"path": "way", "kind": "link", "target": "/"}, {"path": "way/out", "kind": "file"}],
        [{"path": "a", "kind": "file"}, {"path": "a", "kind": "file"}],
        [{"path": "a", "kind": "file", "more": True}],
        [{"path": "a", "kind": "device"}],
        [{"path": "a", "kind": "file", "data": "eHh4eA=="}] * 2,
        [{"path": str(number), "kind": "folder"} for number in range(20)],
        [{"path": "a", "kind": "file", "data": "not base64"}],
    ],
)
def test_a_snapshot_that_is_none_is_refused(tmp_path: Path, items: list[dict[str, Any]]) -> None:
    budget = tree.Budget(entries=10, total=7, file=7)
    with pytest.raises(SandboxLost):
        asyncio.run(moving.fetch(Lying(*items), "/work", tmp_path / "archive", tmp_path / "scratch", budget))
    assert not (tmp_path / "archive").exists()
    assert not Path("/etc/out").exists()
    assert not (tmp_path / "out").exists()


def test_a_tag_tells_whether_its_sandbox_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    tag = Tag.read(new_tag("mine", 600))
    assert tag
    assert len(new_tag("mine" * 100, 1e9)) <= 63
    assert not tag.unwanted(label=None, older_than=0, here=True)
    monkeypatch.setattr("rubricgrade.sandbox.warden.tag.began", lambda _pid: 0)
    assert tag.unwanted(label="mine", older_than=0, here=False)
    assert not tag.unwanted(label="other", older_than=0, here=False)
    assert not tag.unwanted(label=None, older_than=60, here=False)


def test_what_another_computer_made_is_wanted_until_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    tag = Tag.read(new_tag("", 600))
    assert tag
    monkeypatch.setattr("rubricgrade.sandbox.warden.tag.boot", lambda: "00000000")
    assert tag.unwanted(label=None, older_than=0, here=True)
    assert not tag.unwanted(label=None, older_than=0, here=False)
    monkeypatch.setattr("time.time", lambda: tag.made + 601)
    assert tag.unwanted(label=None, older_than=0, here=False)


@pytest.mark.parametrize("name", ["", "rubricgrade", "somebody-else", "rubricgrade-0-0-0-0-0-0-0"])
def test_a_name_that_is_not_ours_has_no_tag(name: str) -> None:
    assert Tag.read(name) is None
