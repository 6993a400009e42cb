"""Bombs, floods and hangs: each ends within its limit, is told apart from the others, and leaves the sandbox alive."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rubricgrade.errors import SandboxLost
from rubricgrade.sandbox import BubblewrapProvider, Limits
from rubricgrade.sandbox.contract import MiB
from rubricgrade.sandbox.live import BubblewrapSandbox

from .conftest import Use, opened, python, shell

SMALL = Limits(memory=256 * MiB, processes=64, disk=16 * MiB, files=1000, file_size=8 * MiB, cpu=2)


async def alive(box: BubblewrapSandbox) -> bool:
    return (await box.exec(["true"])).ok


def bomb(use: Use, command: list[str], **options: Any) -> Any:
    """Run a bomb in a small sandbox that must survive it."""
    template = {
        "limits": options.pop("limits", SMALL),
        **({"upper": options.pop("upper")} if "upper" in options else {}),
    }

    async def work(box: BubblewrapSandbox) -> Any:
        done = await box.exec(command, **options)
        assert await alive(box)
        return done

    return use(work, **template)


def test_memory_in_one_process(use: Use) -> None:
    done = bomb(use, ["python3", "-c", "x = []\nwhile True: x.append(bytearray(8 << 20))"], timeout=60)
    assert not done.timed_out
    assert done.oom or b"MemoryError" in done.stderr


def test_memory_over_many_processes_is_a_memory_kill(use: Use) -> None:
    script = """
import os, time
for _ in range(8):
    if not os.fork():
        x = bytearray(100 << 20); time.sleep(60); os._exit(0)
while True:
    pid, status = os.wait()
    if status: break
print("a child was killed by", status)
"""
    done = bomb(use, ["python3", "-c", script], timeout=60)
    assert done.oom
    assert done.stdout == b"a child was killed by 9\n"


def test_an_ordinary_failure_is_no_memory_kill(use: Use) -> None:
    assert not bomb(use, ["sh", "-c", "kill -9 $$"]).oom


def test_memory_in_shared_memory_and_tmp_is_bounded(use: Use) -> None:
    for place, size in (("/dev/shm", 16), ("/tmp", 16)):
        done = bomb(
            use,
            [
                "sh",
                "-c",
                f"i=0; while dd if=/dev/zero of={place}/$i bs=1M count=7 2>/dev/null; do i=$((i+1)); done; du -sm {place}",
            ],
        )
        assert int(done.stdout.split()[0]) <= size + 1


def test_processes(use: Use) -> None:
    done = bomb(use, ["python3", "-c", "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass"], timeout=1.5)
    assert done.timed_out
    done = bomb(use, ["sh", "-c", "for i in $(seq 200); do sleep 60 & done; ls /proc | grep -c '^[0-9]'"], timeout=20)
    assert b"ork" in done.stderr or int(done.stdout) <= SMALL.processes + 2


def test_cpu_time_of_one_process(use: Use) -> None:
    done = bomb(use, ["sh", "-c", "while :; do :; done"], timeout=60)
    assert done.code == 128 + 9
    assert not done.timed_out


@pytest.mark.parametrize("place", ["/work", "/tmp"])
def test_disk_and_files_in_memory(use: Use, place: str) -> None:
    done = bomb(
        use,
        [
            "sh",
            "-c",
            f"cd {place}; i=0; while dd if=/dev/zero of=$i bs=1M count=4 status=none; do i=$((i+1)); done; du -sm .",
        ],
    )
    assert b"No space left" in done.stderr
    assert int(done.stdout.split()[0]) <= 17
    done = bomb(use, ["python3", "-c", f"import os\nfor i in range(5000): open('{place}/%d' % i, 'w')"])
    assert b"No space left" in done.stderr


def test_one_large_file(use: Use) -> None:
    done = bomb(use, ["dd", "if=/dev/zero", "of=big", "bs=1M", "count=12"])
    assert done.code == 128 + 25  # SIGXFSZ


def test_disk_on_disk_is_watched(use: Use) -> None:
    script = "i=0; while :; do dd if=/dev/zero of=$i bs=1M count=4 status=none; i=$((i+1)); done"

    async def work(box: BubblewrapSandbox) -> Any:
        return await shell(box, script, timeout=60)

    done = use(work, limits=SMALL, upper="disk")
    assert done.full
    assert done.code == 128 + 9
    assert not done.timed_out


def test_files_on_disk_are_watched(use: Use) -> None:
    script = "import os, time\nfor i in range(3000): open('/work/%d' % i, 'w').close()\ntime.sleep(60)"
    assert use(lambda box: python(box, script, timeout=60), limits=SMALL, upper="disk").full


def test_a_sandbox_on_disk_that_keeps_to_its_limit_is_left_alone(use: Use) -> None:
    done = use(
        lambda box: shell(box, "dd if=/dev/zero of=x bs=1M count=7 status=none; sleep 1"), limits=SMALL, upper="disk"
    )
    assert done.ok
    assert not done.full


def test_endless_output_is_cut(use: Use) -> None:
    for command in (["cat", "/dev/zero"], ["sh", "-c", "yes >&2"]):
        done = bomb(use, command, limit=10_000, timeout=60)
        assert done.flooded
        assert not done.timed_out
        assert max(done.stdout_total, done.stderr_total) > 640_000
        assert len(done.stdout) <= 10_000


def test_output_of_a_background_job_that_never_ends_does_not_keep_its_command(use: Use) -> None:
    done = bomb(use, ["sh", "-c", "yes & echo started; exit 3"], timeout=60, limit=MiB)
    assert done.code == 3
    assert not done.timed_out


HANGS = {
    "sleep": "sleep 1000",
    "ignores every signal": "trap '' TERM INT HUP QUIT USR1 USR2 ALRM; while :; do sleep 1000; done",
    "stopped": "kill -STOP $$",
    "reads a fifo": "mkfifo f; cat f",
    "holds its output from a daemon": "setsid sh -c 'sleep 1000' & wait",
    "double fork": "(setsid sh -c 'sleep 1000 & sleep 1000' &) ; sleep 1000",
}


@pytest.mark.parametrize("name", HANGS)
def test_a_hang_ends_at_its_limit_with_everything_below_it(use: Use, name: str) -> None:
    async def work(box: BubblewrapSandbox) -> None:
        done = await shell(box, HANGS[name], timeout=0.7)
        assert done.timed_out
        assert done.code == 128 + 9
        # Only the two processes of this command itself are left.
        left = await python(box, "import os; print(sorted(p for p in os.listdir('/proc') if p.isdigit() and p != '1'))")
        assert len(eval(left.stdout)) == 1, left

    use(work)


def test_a_timeout_spares_other_commands_and_earlier_jobs(use: Use) -> None:
    async def work(box: BubblewrapSandbox) -> None:
        await shell(box, "sleep 500 & echo $! > job")
        other = asyncio.ensure_future(shell(box, "sleep 2; echo other"))
        assert (await shell(box, "sleep 1000", timeout=0.5)).timed_out
        assert (await shell(box, "kill -0 $(cat job)")).ok
        assert (await other).stdout == b"other\n"

    use(work)


def test_killing_everybody_from_inside_hurts_only_oneself(use: Use) -> None:
    async def work(box: BubblewrapSandbox) -> None:
        for script in ("kill -9 -1", "kill -9 1; kill -INT 1; kill -STOP 1; kill -SEGV 1; sleep 0.2; kill -9 -1"):
            done = await shell(box, script, timeout=30)
            assert not done.timed_out
            assert await alive(box)

    use(work)


def test_hostile_files_are_read_as_what_they_are(use: Use) -> None:
    script = "ln -s /etc/passwd link; mkfifo fifo; truncate -s 10T sparse; ln -s / top; echo x > 'new\nline'; mkdir dir"

    async def work(box: BubblewrapSandbox) -> None:
        await shell(box, script)
        for path in (
            "link",
            "fifo",
            "top/etc/passwd",
            "dir",
            "/dev/zero",
            "/proc/1/maps",
            "../etc/../etc/nothing",
            "missing",
        ):
            with pytest.raises(FileNotFoundError):
                await box.read(path)
        with pytest.raises(ValueError, match="at most"):
            await box.read("sparse")
        assert await box.read("new\nline") == b"x\n"

    use(work, limits=Limits(file_size=1 << 50))


def test_writing_goes_through_no_link_and_says_why_not(use: Use) -> None:
    async def work(box: BubblewrapSandbox) -> None:
        await shell(box, "ln -s /tmp/target link; ln -s /tmp folder; mkfifo fifo; mkdir dir")
        for path in ("link", "folder/x", "fifo", "dir", "/usr/x", "/proc/1/oom_score_adj", "x/../../y", "/"):
            with pytest.raises(OSError, match=r"."):
                await box.write(path, b"data")
        assert (await shell(box, "ls /tmp")).stdout.split() == [b"home"]
        with pytest.raises(OSError, match="space"):
            await box.write("large", bytes(20 * MiB))
        await box.write("again", b"long content")
        await box.write("again", b"short", mode=0o600)
        assert await box.read("again") == b"short"

    use(work, limits=SMALL)


def test_requests_that_are_no_commands(use: Use) -> None:
    async def work(box: BubblewrapSandbox) -> None:
        assert (
            "larger" in (await box.exec(["echo", "x" * 300_000])).error
            or (await box.exec(["echo", "x" * 300_000])).error
        )
        assert "not found: nothing-here" in (await box.exec(["nothing-here"])).error
        assert (
            "/work/no" in (await box.exec(["true"], cwd="no")).error or (await box.exec(["true"], cwd="no")).code == -1
        )
        for argv in ([], ["a\0b"]):
            assert (await box.exec(argv)).error
        assert (await box.exec(["echo", "y" * 100_000])).stdout_total == 100_001
        with pytest.raises(ValueError, match="one user"):
            await box.exec(["true"], user="root")

    use(work)


def test_no_thread_of_control_waits_for_a_child_that_holds_standard_input(use: Use) -> None:
    done = use(lambda box: shell(box, "sleep 100 <&0 & exit 0", stdin=bytes(10 * MiB), timeout=60))
    assert done.ok


def test_lifetime_ends_a_sandbox_by_itself(provider: BubblewrapProvider) -> None:
    async def main() -> None:
        async with opened(provider, limits=Limits(lifetime=1)) as box:
            with pytest.raises(SandboxLost):
                await box.exec(["sleep", "100"])

    asyncio.run(main())
