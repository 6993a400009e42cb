"""Templates with a root file system of their own: nothing of the host is seen, all of it may be changed, in a fork."""

from __future__ import annotations

import asyncio
import gzip
import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
import zstandard

from rubricgrade.errors import TemplateError
from rubricgrade.sandbox import BubblewrapProvider
from rubricgrade.sandbox.live import BubblewrapSandbox
from rubricgrade.templates import Store, build, load_source
from tests.templates.made import template
from tests.templates.test_building import in_fork, said

SETUP = {"setup.sh": "rm /etc/gone; echo set up > /etc/made; mkdir /opt; echo here > made\n"}


def test_a_folder_as_root(store: Store, provider: BubblewrapProvider, rootfs: Path, tmp_path: Path) -> None:
    async def main() -> None:
        text = f"base: {{rootfs: {rootfs}}}\nsetup: setup.sh\nrequires: {{programs: [show]}}\n"
        built, _ = await build(load_source(template(tmp_path / "t", text, SETUP)), store, provider=provider)
        assert built.base["kind"] == "rootfs"
        seen = await said(store, provider, built, "ls /etc /opt /; cat made; show /etc/which /etc/made; pwd; id")
        names = seen.split()
        assert "gone" not in names
        assert not {"usr", "home", "root", "var"} & {*names}
        assert "here\nnot the host\nset up\n/work\nuid=1000" in seen
        assert await said(store, provider, built, "ls /dev/null /proc/self/cmdline; cat /proc/cmdline") == (
            "/dev/null\n/proc/self/cmdline\n"
        )
        assert await said(store, provider, built, "rm -r /etc; ls /etc/which") != ""
        assert await said(store, provider, built, "show /etc/which") == "not the host\n"

    asyncio.run(main())


def test_nothing_of_the_host_can_be_reached_from_a_root_of_its_own(
    store: Store, provider: BubblewrapProvider, rootfs: Path, tmp_path: Path
) -> None:
    async def main() -> None:
        built, _ = await build(
            load_source(template(tmp_path / "t", f"base: {{rootfs: {rootfs}}}")), store, provider=provider
        )
        mounts = await said(store, provider, built, "cat /proc/self/mountinfo")
        assert " /.l" not in mounts.replace("lowerdir=/.l", "")
        assert str(store.folder) not in mounts
        seen = await said(store, provider, built, "ls -a /; ls -a /proc/1/root/ /proc/self/root/ /..")
        assert not {".l", ".u", ".r", "usr", "opt"} & {*seen.split()}

    asyncio.run(main())


def test_it_is_confined_like_any_other(
    store: Store, provider: BubblewrapProvider, rootfs: Path, tmp_path: Path
) -> None:
    async def work(sandbox: BubblewrapSandbox) -> None:
        assert sandbox.isolation.kernel_uid == provider.kernel_uid != 0
        status = (await sandbox.exec(["cat", "/proc/self/status"])).stdout.decode()
        facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        assert (facts["CapEff"], facts["CapBnd"], facts["NoNewPrivs"], facts["Seccomp"]) == (
            "0" * 16,
            "0" * 16,
            "1",
            "2",
        )
        for path in ("/proc/1/environ", "/proc/1/mem", "/proc/1/root/etc/passwd", "/proc/kallsyms", "/proc/keys"):
            assert (await sandbox.exec(["cat", path])).stdout == b""
        assert not (await sandbox.exec(["sh", "-c", "echo 1 > /proc/sys/kernel/core_pattern"])).ok
        assert (await sandbox.exec(["sh", "-c", "echo $HOME; : > $HOME/x; ls /dev/pts /dev/shm"])).ok

    async def main() -> None:
        source = load_source(template(tmp_path / "t", f"base: {{rootfs: {rootfs}}}"))
        built, _ = await build(source, store, provider=provider)
        await in_fork(store, provider, built, work)

    asyncio.run(main())


def test_a_running_one_is_forked_with_everything(
    store: Store, provider: BubblewrapProvider, rootfs: Path, tmp_path: Path
) -> None:
    async def work(first: BubblewrapSandbox) -> None:
        await first.exec(["sh", "-c", "echo 1 > /etc/new; rm /etc/which; echo w > work"])
        second = await first.fork()
        try:
            done = await second.exec(["sh", "-c", "ls /etc; cat work /etc/new; echo 2 > /etc/new"])
            assert done.stdout == b"gone\nnew\nw\n1\n"
            assert (await first.read("/etc/new")) == b"1\n"
            assert [entry.path for entry in (await second.changes()).entries] == ["work"]
        finally:
            await second.close()

    async def main() -> None:
        for upper in ("memory", "disk"):
            text = f"base: {{rootfs: {rootfs}}}\nupper: {upper}\n"
            built, _ = await build(load_source(template(tmp_path / upper, text)), store, provider=provider)
            await in_fork(store, provider, built, work)

    asyncio.run(main())


def tar_of(rootfs: Path) -> bytes:
    """As container engines export one: with a device, a FIFO, a set-user-id program, and something in /proc."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        tar.add(rootfs, "./")
        device = tarfile.TarInfo("srv/null")
        device.type, device.devmajor, device.devminor = tarfile.CHRTYPE, 1, 3
        tar.addfile(device)
        for name, kind in (("dev", tarfile.DIRTYPE), ("dev/extra", tarfile.FIFOTYPE), ("proc/x", tarfile.REGTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.mode = kind, 0o755
            tar.addfile(info)
        info = tarfile.TarInfo("bin/power")
        info.size, info.mode = 3, 0o4755
        tar.addfile(info, io.BytesIO(b"#!x"))
    return data.getvalue()


PACKING = {
    "rootfs.tar": bytes,
    "rootfs.tar.gz": gzip.compress,
    "rootfs.tar.zst": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("name", PACKING)
def test_a_tar_as_root(store: Store, provider: BubblewrapProvider, rootfs: Path, tmp_path: Path, name: str) -> None:
    async def main() -> None:
        folder = template(tmp_path / "t", f"base: {{rootfs: {name}}}")
        (folder / name).write_bytes(PACKING[name](tar_of(rootfs)))
        built, _ = await build(load_source(folder), store, provider=provider)
        assert built.notes == ("left out of the root file system: srv/null: device, FIFO or socket",)
        seen = await said(store, provider, built, "show /etc/which; list -l /bin/power; ls /dev")
        assert seen.startswith("not the host\n-rwxr-xr-x")
        assert "extra" not in seen.split()

    asyncio.run(main())


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


HOSTILE = {
    "above": [member("../outside")],
    "through a link": [member("way", tarfile.SYMTYPE, "/tmp"), member("way/file")],
    "hard link outside": [member("file", tarfile.LNKTYPE, "../../../../../etc/hostname")],
    "hard link through a link": [member("way", tarfile.SYMTYPE, "/etc"), member("x", tarfile.LNKTYPE, "way/hostname")],
    "twice": [member("file"), member("file")],
}


@pytest.mark.parametrize("members", HOSTILE.values(), ids=HOSTILE)
def test_a_tar_that_leaves_its_folder_is_refused(
    store: Store, provider: BubblewrapProvider, tmp_path: Path, members: list[tarfile.TarInfo]
) -> None:
    folder = template(tmp_path / "t", "base: {rootfs: r.tar}", {"r.tar": ""})
    with tarfile.open(folder / "r.tar", "w") as tar:
        for info in members:
            tar.addfile(info)
    with pytest.raises(TemplateError, match="no usable tar"):
        asyncio.run(build(load_source(folder), store, provider=provider))
    assert store.all() == []


@pytest.mark.parametrize("content", [b"", b"no tar at all", b"\x28\xb5\x2f\xfdbroken", b"\0" * 100])
def test_what_is_no_tar_is_told(store: Store, provider: BubblewrapProvider, tmp_path: Path, content: bytes) -> None:
    folder = template(tmp_path / "t", "base: {rootfs: r.tar}")
    (folder / "r.tar").write_bytes(content)
    with pytest.raises(TemplateError, match="no usable tar"):
        asyncio.run(build(load_source(folder), store, provider=provider))


@pytest.mark.parametrize("name", ["dev", "proc", "work"])
def test_a_link_in_a_root_does_not_move_mounts(
    store: Store, provider: BubblewrapProvider, rootfs: Path, tmp_path: Path, name: str
) -> None:
    async def main() -> None:
        folder = template(tmp_path / "t", "base: {rootfs: r}")
        shutil.copytree(rootfs, folder / "r", symlinks=True)
        (folder / "r" / name).symlink_to("/etc")
        built, _ = await build(load_source(folder), store, provider=provider)
        with pytest.raises(TemplateError, match="folder is to be mounted"):
            await said(store, provider, built, "true")

    asyncio.run(main())


@pytest.mark.timeout(1200)
@pytest.mark.skipif("TEST_MMDEBSTRAP" not in os.environ, reason="TEST_MMDEBSTRAP='SUITE MIRROR': it takes minutes")
def test_a_whole_distribution(store: Store, provider: BubblewrapProvider, tmp_path: Path) -> None:
    suite, *mirrors = os.environ["TEST_MMDEBSTRAP"].split()
    text = "base: {rootfs: r.tar}\nsetup: {script: s.sh}\nrequires: {programs: [python3]}\n"
    script = "python3 -c 'print(6 * 7)' > answer; cp answer /usr/local/answer; rm /etc/debian_version\n"
    folder = template(tmp_path / "t", text, {"s.sh": script})
    argv = ["mmdebstrap", "--variant=minbase", "--include=python3-minimal", suite, folder / "r.tar", *mirrors]
    subprocess.run(argv, check=True)

    async def main() -> None:
        built, _ = await build(load_source(folder), store, provider=provider)
        seen = await said(store, provider, built, "cat answer /usr/local/answer /etc/os-release; ls /etc /home")
        assert seen.startswith("42\n42\n")
        assert "Debian" in seen
        assert "debian_version" not in seen

    asyncio.run(main())
