"""Many sandboxes, several at once, some of them killed at any moment of their life: nothing of them is left."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import threading
from pathlib import Path

import pytest

from rubricgrade.errors import SandboxLost, SandboxUnavailable
from rubricgrade.sandbox import BubblewrapProvider, base_template, cgroups, state

from .conftest import born, shell
from .test_lifecycle import open_files, until

FORKS = int(os.environ.get("SANDBOX_TEST_FORKS", "100"))
AT_ONCE = 8
KILLED = 0.05


def mounted() -> set[str]:
    """All mounts here, but for those of engines that others run beside these tests."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return {line for line in lines if "/dockerd-" not in line and "/podman-" not in line and " /var/lib/" not in line}


def children(pid: int) -> list[int]:
    """The processes that a process has started and not waited for."""
    found: list[int] = []
    with contextlib.suppress(OSError):  # it has gone meanwhile
        for path in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found += map(int, Path(path, "children").read_text().split())
    return found


def below(pid: int) -> list[int]:
    """Everything below a process."""
    direct = children(pid)
    return [*direct, *(deeper for each in direct for deeper in below(each))]


def named(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


class Killer(threading.Thread):
    """Kills bubblewraps and first processes of this process's sandboxes, whatever these are doing just then.

    Attributes:
        wanted: How many are still to be killed.
        seen: Everything that ran in a sandbox when it was looked at.
    """

    def __init__(self, count: int) -> None:
        super().__init__(daemon=True)
        self.wanted = count
        self.seen: set[tuple[int, str]] = set()
        self.over = threading.Event()
        self._chance = random.Random(3)

    def run(self) -> None:
        while not self.over.wait(self._chance.random() * 0.05):
            outer = [pid for pid in children(os.getpid()) if named(pid) == "bwrap"]
            self.seen |= {born(pid) for each in outer for pid in (each, *below(each))}
            victims = [*outer, *(pid for each in outer for pid in children(each))]
            if victims and self.wanted and self._chance.random() < 0.5:
                try:
                    os.kill(self._chance.choice(victims), signal.SIGKILL)
                    self.wanted -= 1
                except ProcessLookupError:
                    continue


@pytest.mark.timeout(900)
def test_many_forks_with_some_of_them_killed_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    groups: list[Path] = []
    plan = cgroups.plan

    def planned(place: cgroups.Place) -> cgroups.Group:
        group = plan(place)
        groups.extend(group.folders)
        return group

    monkeypatch.setattr(cgroups, "plan", planned)
    provider = BubblewrapProvider()
    killer = Killer(int(FORKS * KILLED))
    outcomes: list[str] = []

    async def one(room: asyncio.Semaphore, number: int) -> None:
        async with room:
            try:
                box = await provider.open(base_template(upper=("memory", "disk")[number % 2]), label="many")
            except SandboxUnavailable:
                outcomes.append("not opened")
                return
            try:
                done = await shell(box, f"(setsid sleep 1000 &); echo {number} > x; sleep 0.05; cat x", timeout=60)
                outcomes.append("ran" if done.ok and int(done.stdout) == number else repr(done))
            except SandboxLost:
                outcomes.append("lost")
            finally:
                await box.close()

    async def main() -> None:
        room = asyncio.Semaphore(AT_ONCE)
        await asyncio.gather(*(one(room, number) for number in range(FORKS)))
        assert await provider.reap() == 0, "close left it to somebody else"

    provider.interior()
    files, mounts = open_files(), mounted()
    killer.start()
    asyncio.run(main())
    killer.over.set()
    killer.join()
    assert len(outcomes) == FORKS
    assert set(outcomes) <= {"ran", "lost", "not opened"}
    assert killer.wanted == 0, "not enough of them were killed"
    assert outcomes.count("ran") >= FORKS - int(FORKS * KILLED)
    assert len(killer.seen) > AT_ONCE, "no process was ever seen"
    assert until(lambda: not [each for each in killer.seen if each[1] and born(each[0]) == each])
    assert [path.name for path in state.root().iterdir() if not path.name.startswith("base-")] == []
    assert [path for path in groups if path.exists()] == []
    assert mounted() <= mounts
    assert open_files() == files
    assert [pid for pid in children(os.getpid()) if named(pid) == "bwrap"] == []
