"""Copies and layers: what a fork shares with its template and its original, and what a snapshot brings back."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from rubricgrade import tree
from rubricgrade.errors import TemplateError
from rubricgrade.sandbox import BubblewrapProvider, Layer, Limits, base_template
from rubricgrade.sandbox.contract import MiB

from .conftest import opened, shell

UPPERS = ["memory", "disk"]
CHANGE = """
rm a; rm -r d; mkdir d; echo new > d/new; ln -s /etc/shadow link; mkfifo fifo; touch 'new
line'; cp /bin/true tool; chmod 4755 tool; chmod 000 d/new; truncate -s 100M sparse; mv keep kept; : > .wh.kept
"""
AFTER = {
    "a": "deleted",
    "d": "folder",
    "d/new": "file",
    "keep": "deleted",
    "kept": "file",
    "link": "link",
    "new\nline": "file",
    "sparse": "file",
    "tool": "file",
    ".wh.kept": "file",
}
LIST = "find . -mindepth 1 ! -name fifo -printf '%P|%y|%m|%l\\n' | sort"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    (root / "d").mkdir(parents=True)
    for name in ("a", "keep", "d/x", "d/y"):
        (root / name).write_text(name)
    return root


@pytest.mark.parametrize("upper", UPPERS)
def test_changes_stay_in_the_fork_and_out_of_the_template(
    provider: BubblewrapProvider, source: Path, upper: str
) -> None:
    async def main() -> None:
        async with provider.stage(source) as folder:
            before = tree.digest(folder)
            layers = (Layer(folder, "/work", "overlay"), Layer(folder, "/data"))
            async with (
                opened(provider, layers=layers, upper=upper) as one,
                opened(provider, layers=layers, upper=upper) as two,
            ):
                assert (await shell(one, CHANGE)).ok
                assert {entry.path: entry.kind for entry in (await one.changes()).entries} == AFTER
                assert [item.path for item in (await one.changes()).skipped] == ["fifo"]
                assert not (await shell(one, "echo x > /data/a || echo x > /data/b")).ok
                assert (await shell(two, "cat a d/x /data/keep")).stdout == b"ad/xkeep"
                assert not (await two.changes()).entries
            assert tree.digest(folder) == before

    asyncio.run(main())


@pytest.mark.parametrize("upper", UPPERS)
def test_a_snapshot_on_a_fresh_fork_shows_the_same(
    provider: BubblewrapProvider, source: Path, tmp_path: Path, upper: str
) -> None:
    async def main() -> None:
        archive = tmp_path / "workspace.tar.zst"
        async with provider.stage(source) as folder:
            template = base_template(layers=(Layer(folder, "/work", "overlay"),), upper=upper)
            first = await provider.open(template)
            await shell(first, CHANGE)
            listing = await first.snapshot(archive)
            seen = (await shell(first, LIST)).stdout
            await first.close()
            assert {entry.path: entry.kind for entry in listing.entries} == AFTER
            async with provider.stage(archive, layer=True) as changes:
                other = replace(template, layers=(*template.layers, Layer(changes, "/work", "overlay")))
                second = await provider.open(other)
                # The one difference: set-id bits do not travel.
                assert (await shell(second, LIST)).stdout == seen.replace(b"tool|f|4755", b"tool|f|755")
                assert (await shell(second, "rm -r d kept; echo more > d")).ok
                await second.close()

    asyncio.run(main())


@pytest.mark.parametrize("upper", UPPERS)
def test_a_fork_of_a_fork_has_everything_and_its_snapshot_too(
    provider: BubblewrapProvider, source: Path, tmp_path: Path, upper: str
) -> None:
    async def main() -> None:
        async with (
            provider.stage(source) as folder,
            opened(provider, layers=(Layer(folder, "/work", "overlay"),), upper=upper) as one,
        ):
            await shell(one, CHANGE + "echo t > /tmp/t; echo s > /dev/shm/s")
            two = await one.fork()
            await shell(two, "echo two > two; rm kept")
            three = await two.fork()
            seen = {box: (await shell(box, LIST)).stdout for box in (one, two, three)}
            assert seen[two] == seen[three]
            assert seen[one] != seen[two]
            assert (await shell(three, "cat /tmp/t two; ls /dev/shm")).stdout == b"t\ntwo\n"
            expected = AFTER | {"two": "file"}
            del expected["kept"]
            assert {
                entry.path: entry.kind for entry in (await three.snapshot(tmp_path / "w.tar.zst")).entries
            } == expected
            for box in (three, two):
                await box.close()

    asyncio.run(main())


def test_a_fork_of_an_empty_work_folder(provider: BubblewrapProvider, tmp_path: Path) -> None:
    async def main() -> None:
        for upper in UPPERS:
            async with opened(provider, upper=upper) as one:
                await shell(one, "mkdir -p a/b; echo x > a/b/c")
                two = await one.fork()
                assert await two.read("a/b/c") == b"x\n"
                assert [entry.path for entry in (await two.changes()).entries] == ["a", "a/b", "a/b/c"]
                await two.close()

    asyncio.run(main())


def test_a_hostile_folder_is_staged_clean(provider: BubblewrapProvider, tmp_path: Path) -> None:
    root = tmp_path / "left"
    root.mkdir()
    (root / "shadow").symlink_to("/etc/shadow")
    (root / "secret").write_text("s")
    (root / "secret").chmod(0o600)
    os.mkfifo(root / "fifo")
    (root / "tool").write_text("#!/bin/sh\n")
    (root / "tool").chmod(0o6755)

    async def main() -> Path:
        async with provider.stage(root) as folder:
            assert folder.parent.parent.stat().st_mode & 0o777 == 0o700
            async with opened(provider, layers=(Layer(folder, "/work", "overlay"),)) as box:
                assert (await shell(box, "ls; stat -c %a tool; cat secret; echo more >> secret")).stdout == (
                    b"secret\nshadow\ntool\n755\ns"
                )
                assert not (await shell(box, "cat shadow")).ok
            return folder

    assert not asyncio.run(main()).exists()


def test_links_in_a_layer_do_not_move_mounts(provider: BubblewrapProvider, tmp_path: Path) -> None:
    root = tmp_path / "left"
    root.mkdir()
    (root / "data").symlink_to("/etc")
    (tmp_path / "sealed").mkdir()

    async def main() -> None:
        async with provider.stage(root) as folder:
            layers = (Layer(folder, "/work", "overlay"), Layer(tmp_path / "sealed", "/work/data"))
            with pytest.raises(TemplateError, match="folder is to be mounted"):
                await provider.open(base_template(layers=layers))

    asyncio.run(main())


def test_deeper_mounts_are_seen_through_shallower_ones(provider: BubblewrapProvider, source: Path) -> None:
    async def main() -> None:
        async with provider.stage(source) as folder:
            layers = (
                Layer(folder, "/work/in/side"),
                Layer(folder, "/work", "overlay"),
                Layer(folder, "/srv/x", "overlay"),
            )
            async with opened(provider, layers=layers) as box:
                done = await shell(
                    box, "cat a in/side/a /srv/x/a; echo 1 > /srv/x/a && cat /srv/x/a; echo 1 > in/side/a"
                )
                assert done.stdout == b"aaa1\n"

    asyncio.run(main())


BAD = [
    {"workdir": "/usr/work"},
    {"workdir": "/"},
    {"workdir": "relative"},
    {"workdir": "/work/../etc"},
    {"workdir": "/proc"},
    {"workdir": "/etc"},
    {"workdir": "/opt"},
    {"layers": (Layer(Path("/nonexistent-folder"), "/data"),)},
    {"layers": (Layer(Path("/usr"), "/dev"),)},
]


@pytest.mark.parametrize("fields", BAD, ids=str)
def test_templates_that_can_not_be(provider: BubblewrapProvider, fields: dict[str, object]) -> None:
    with pytest.raises(TemplateError):
        asyncio.run(provider.open(base_template(**fields)))


def test_an_overlay_layer_must_belong_to_the_sandboxes_user(provider: BubblewrapProvider, source: Path) -> None:
    opening = opened(provider, layers=(Layer(source, "/work", "overlay"),))

    async def main() -> bool:
        async with opening as box:
            return (await shell(box, "echo changed > a")).ok

    if os.geteuid() == 0:
        with pytest.raises(TemplateError, match="stage"):
            asyncio.run(main())
    else:
        assert asyncio.run(main())
        assert (source / "a").read_text() == "a"


def test_another_work_folder(provider: BubblewrapProvider) -> None:
    async def main() -> None:
        async with opened(provider, workdir="/home/agent/project", limits=Limits(disk=4 * MiB)) as box:
            await box.write("x", b"1")
            assert (await shell(box, "pwd; cat x")).stdout == b"/home/agent/project\n1"
            assert await box.read("/home/agent/project/x") == b"1"

    asyncio.run(main())
