"""What the host lacks, or does to a sandbox, is told as the host's: never as what a command has said."""

from __future__ import annotations

import asyncio
import errno
import os
import pickle
import resource
import signal
import socket
from collections.abc import Generator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from rubricgrade import tree
from rubricgrade.errors import SandboxLost, SandboxUnavailable, TemplateError
from rubricgrade.sandbox import (
    BubblewrapProvider,
    Layer,
    Limits,
    base_template,
    cgroups,
    quota,
    shortage,
    staging,
    state,
)
from rubricgrade.sandbox.choosing import FirstThatWorks
from rubricgrade.sandbox.contract import MiB, Template
from rubricgrade.sandbox.live import BubblewrapSandbox

from .conftest import Use, opened, python, shell

EAT = "kept = bytearray(b'x') * (300 << 20)"


def failing(number: int) -> Any:
    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number))

    return fail


def lost(use: Use, work: Any, **template: Any) -> SandboxLost:
    with pytest.raises(SandboxLost) as told:
        use(work, **template)
    return told.value


def pid1_of(box: BubblewrapSandbox) -> int:
    facts = Path(f"/proc/self/fdinfo/{box._parts.link.pid1}").read_text()
    return int(facts.split("Pid:\t")[1].split()[0])


# --- Memory and processes -------------------------------------------------------------------------------------------


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Generator[dict[str, Path]]:
    """A host of 150 MiB and 8 processes for all sandboxes together, where each may have more."""
    place = cgroups.find()
    if place is None or place.version != 1:
        pytest.skip("no control groups of version 1 can be made here, and those of version 2 only by their manager")
    group = cgroups.plan(place)
    cgroups.make(group, memory=150 * MiB, processes=8)
    monkeypatch.setattr(cgroups, "find", lambda: cgroups.Place(1, group.memory, group.processes))
    yield {"memory": group.memory, "processes": group.processes}
    for folder in group.folders:
        cgroups.remove(folder)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("says", [EAT, f"import subprocess, sys; subprocess.run([sys.executable, '-c', {EAT!r}])"])
def test_memory_that_the_host_lacks_is_no_failure_of_a_command(use: Use, says: str) -> None:
    assert "ran out of memory" in str(error := lost(use, lambda box: python(box, says)))
    assert error.by_host


def test_memory_that_a_command_may_not_have_is_its_own_affair(use: Use) -> None:
    done = use(lambda box: python(box, EAT), limits=Limits(memory=200 * MiB))
    assert done.oom or b"MemoryError" in done.stderr


@pytest.mark.usefixtures("narrow")
def test_processes_that_the_host_lacks_are_no_failure_of_a_command(use: Use) -> None:
    error = lost(use, lambda box: shell(box, "for i in 1 2 3 4 5 6 7 8 9; do sleep 9 & done; kill %1; echo 0"))
    assert "no room for more processes" in str(error)
    assert error.by_host


def test_processes_that_a_command_may_not_have_are_its_own_affair(use: Use) -> None:
    many = "for i in 1 2 3 4 5 6 7 8 9; do sleep 9 & done; echo 0"
    assert use(lambda box: shell(box, many), limits=Limits(processes=5)).error == ""


@pytest.mark.parametrize(
    ("version", "files", "said"),
    [
        (1, {"memory.oom_control": "oom_kill 1", "memory.max_usage_in_bytes": "50"}, shortage.NO_MEMORY),
        (1, {"memory.oom_control": "oom_kill 1", "memory.max_usage_in_bytes": "99"}, ""),
        (2, {"memory.events": "max 0\noom_kill 1"}, shortage.NO_MEMORY),
        (2, {"memory.events": "max 1\noom_kill 1"}, ""),
        (1, {"pids.events": "max 1", "pids.peak": "3"}, shortage.NO_PROCESSES),
        (1, {"pids.events": "max 1", "pids.peak": "7"}, ""),
        (1, {"pids.events": "max 1", "pids.peak": "0"}, ""),
        (2, {"../pids.events.local": "max 1"}, shortage.NO_PROCESSES),
        (2, {"../pids.events": "max 1"}, ""),
    ],
)
def test_what_the_counters_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int, files: dict[str, str], said: str
) -> None:
    monkeypatch.setattr(cgroups, "MOUNT", tmp_path)
    folder = tmp_path / "all" / "sandbox"
    folder.mkdir(parents=True)
    (folder / "memory.limit_in_bytes").write_text("100")
    (folder / "pids.max").write_text("7")
    group = cgroups.Group(version, folder, folder)
    before = shortage.counts(group)
    assert shortage.since(before, group) == ""
    for name, text in files.items():
        (folder / name).write_text(text)
    assert shortage.since(before, group) == said


def test_a_program_that_can_not_even_be_started_has_not_failed(use: Use) -> None:
    async def work(box: BubblewrapSandbox) -> Any:
        assert (await shell(box, "true")).ok
        resource.prlimit(pid1_of(box), resource.RLIMIT_NPROC, (1, 1))
        return await shell(box, "true")

    assert "want of room for a process" in str(lost(use, work))


@pytest.mark.parametrize("removed", ["", "sub", "sub/data.txt"])
def test_files_that_are_removed_below_a_sandbox_were_there(
    provider: BubblewrapProvider, tmp_path: Path, removed: str
) -> None:
    (tmp_path / "source" / "sub").mkdir(parents=True)
    (tmp_path / "source" / "sub" / "data.txt").write_text("7")

    async def main() -> None:
        async with provider.stage(tmp_path / "source") as folder:
            layers = (Layer(folder, "/work", "overlay"),)
            async with opened(provider, layers=layers) as box:
                assert (await shell(box, "rm -r sub; mkdir other")).ok
                if (folder / removed).is_dir():
                    tree.remove(folder / removed)
                else:
                    (folder / removed).unlink()
                with pytest.raises(SandboxLost, match="were removed") as told:
                    await shell(box, "cat sub/data.txt || echo 0")
                assert told.value.by_host
            with pytest.raises((SandboxUnavailable, TemplateError), match=r"was removed while|is no folder"):
                await provider.open(base_template(layers=layers))
            for name, data in (("sub", None), ("sub/data.txt", "7")):
                place = folder / name
                place.parent.mkdir(exist_ok=True)
                place.mkdir(exist_ok=True) if data is None else place.write_text(data)
            os.chown(folder, *[provider.kernel_uid] * 2)
            async with opened(provider, layers=layers) as box:
                assert (await shell(box, "cat sub/data.txt")).stdout == b"7"
                (folder / "more").write_text("x")
                assert (await shell(box, "true")).ok

    asyncio.run(main())


# --- A sandbox that is ended ----------------------------------------------------------------------------------------


def test_a_sandbox_that_somebody_outside_has_killed_is_the_hosts_loss(use: Use) -> None:
    async def work(box: BubblewrapSandbox) -> Any:
        running = asyncio.ensure_future(shell(box, "sleep 99"))
        await asyncio.sleep(0.2)
        signal.pidfd_send_signal(box._parts.link.pid1, signal.SIGKILL)
        return await running

    error = lost(use, work)
    assert "killed from outside" in str(error)
    assert error.by_host
    assert pickle.loads(pickle.dumps(error)).by_host


def test_a_sandbox_that_we_have_given_up_is_not(use: Use) -> None:
    async def work(box: BubblewrapSandbox) -> Any:
        running = asyncio.ensure_future(shell(box, "sleep 99"))
        await asyncio.sleep(0.2)
        await asyncio.to_thread(box._parts.end)
        return await running

    assert not lost(use, work).by_host


# --- Files, disks and limits of this process ------------------------------------------------------------------------


def test_a_file_that_the_host_can_not_open_is_not_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there").write_text("x")
    really = os.open

    def fail(path: Any, *arguments: Any, **settings: Any) -> int:
        if path == "there":
            raise OSError(errno.EMFILE, "Too many open files")
        return really(path, *arguments, **settings)

    monkeypatch.setattr(os, "open", fail)
    for look in (tree.walk, tree.digest, lambda root: tree.read(root, "there")):
        with pytest.raises(OSError, match="Too many open files") as told:
            look(tmp_path)
        assert not isinstance(told.value, FileNotFoundError)


def test_a_file_that_its_owner_has_closed_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed").write_text("x")
    really = os.open

    def fail(path: Any, *arguments: Any, **settings: Any) -> int:
        if path == "closed":
            raise PermissionError(errno.EACCES, "Permission denied")
        return really(path, *arguments, **settings)

    monkeypatch.setattr(os, "open", fail)
    assert [skipped.path for skipped in tree.walk(tmp_path).skipped] == ["closed"]


def test_what_can_not_be_written_for_want_of_handles_is_no_fault_of_the_place(
    use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(box: BubblewrapSandbox) -> None:
        monkeypatch.setattr(socket, "socketpair", failing(errno.EMFILE))
        try:
            await box.write("made", b"x")
        finally:
            monkeypatch.undo()

    assert lost(use, work).by_host


def test_a_place_that_is_full_or_closed_is_one(use: Use) -> None:
    async def work(box: BubblewrapSandbox) -> None:
        with pytest.raises(OSError, match="No space left"):
            await box.write("large", bytes(range(256)) * 8192)
        with pytest.raises(OSError, match="Read-only"):
            await box.write("/usr/made", b"x")

    use(work, limits=Limits(disk=MiB))


def test_a_full_disk_of_the_host_is_no_failure_of_a_command(use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(box: BubblewrapSandbox) -> Any:
        assert (await shell(box, "echo x > made")).ok
        monkeypatch.setattr(quota, "is_full", lambda _: True)
        return await shell(box, "echo 0")

    error = lost(use, work, upper="disk")
    assert "disk of the host is full" in str(error)
    assert error.by_host


def test_no_sandbox_is_made_on_a_disk_with_less_room_than_it_may_use(provider: BubblewrapProvider) -> None:
    async def main() -> None:
        limits = Limits(disk=1 << 60)
        async with opened(provider, limits=limits):
            pass  # in memory, where the kernel holds it to what there is
        with pytest.raises(SandboxUnavailable, match=r"has room for .* MiB, and a sandbox may write"):
            await provider.open(base_template(limits=limits, upper="disk"))

    asyncio.run(main())


def test_no_sandbox_is_made_where_this_process_may_use_less(
    provider: BubblewrapProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = resource.getrlimit

    def limited(kind: int) -> tuple[int, int]:
        return (MiB, MiB) if kind == resource.RLIMIT_FSIZE else really(kind)

    monkeypatch.setattr(resource, "getrlimit", limited)
    with pytest.raises(SandboxUnavailable, match="RLIMIT_FSIZE of this process is 1048576") as told:
        asyncio.run(provider.open(base_template()))
    assert told.value.short


def test_a_soft_limit_of_this_process_is_not_the_sandboxs(provider: BubblewrapProvider) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)

    async def main() -> bytes:
        async with opened(provider) as box:
            return (await shell(box, "ulimit -S -v; ulimit -S -s")).stdout

    try:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 40, hard))
        assert asyncio.run(main()) == b"unlimited\n8192\n"
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


# --- Making one -----------------------------------------------------------------------------------------------------


def test_a_host_that_fails_while_a_sandbox_is_made_is_told(
    provider: BubblewrapProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def make() -> None:
        await provider.open(base_template())

    async def stage() -> None:
        async with provider.stage(tmp_path):
            pass

    monkeypatch.setattr(state, "create", failing(errno.ENOSPC))
    for work in (make, stage):
        with pytest.raises(SandboxUnavailable, match="No space left") as told:
            asyncio.run(work())
        assert told.value.short
        assert pickle.loads(pickle.dumps(told.value)).short


def test_what_may_pass_is_no_reason_to_take_another_provider_for_good() -> None:
    class Short:
        name = "short"

        async def open(self, *_: Any, **__: Any) -> Any:
            raise SandboxUnavailable("no room", short=True)

        def stage(self, source: Path, **_: Any) -> Any:
            return nullcontext(source)

        async def reap(self, *_: Any) -> int:
            return 0

    asked: list[str] = []

    def second() -> Any:
        asked.append("second")
        return Short()

    with pytest.raises(SandboxUnavailable, match="no room"):
        asyncio.run(FirstThatWorks([Short, second]).open(Template()))
    assert asked == []


def test_an_entry_that_could_not_be_made_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    handles = len(list(Path("/proc/self/fd").iterdir()))
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", failing(errno.ENOSPC))
        with pytest.raises(OSError, match="No space left"):
            state.create()
    assert list(state.root().iterdir()) == []
    assert len(list(Path("/proc/self/fd").iterdir())) == handles


def test_an_entry_that_can_not_be_removed_now_is_left_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "source").mkdir()
    staged = staging.stage(tmp_path / "source", owner=None)
    with monkeypatch.context() as patched:
        patched.setattr(tree, "remove", failing(errno.EIO))
        staged.release()
    assert staged.folder.exists()
    assert state.reap() == 1
    assert not staged.folder.exists()
