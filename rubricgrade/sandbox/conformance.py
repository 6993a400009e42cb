"""What every sandbox provider must do, as code: run it against a provider, ours or yours.

    failures = [result for result in await run(provider) if result.problem]

Only what the contract promises is asked for, so that it holds for a local sandbox, a container and a hosted one alike.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from rubricgrade.errors import SandboxError, SandboxLost
from rubricgrade.sandbox.contract import Limits, MiB, Provider, Sandbox, Template

SHELL = "sh"
PROMPT = 20.0
"""Seconds that something which must not wait may take on a slow host."""


class ConformanceError(AssertionError):
    """A provider does not do what the contract promises."""


@dataclass(frozen=True, slots=True)
class Result:
    """How one check went.

    Attributes:
        name: The check.
        problem: What is wrong; empty when nothing is.
        seconds: How long it took.
    """

    name: str
    problem: str
    seconds: float


def _require(holds: object, problem: str) -> None:
    if not holds:
        raise ConformanceError(problem)


@asynccontextmanager
async def _fork_of(provider: Provider, template: Template | None = None) -> AsyncGenerator[Sandbox]:
    sandbox = await provider.open(template or Template(name="conformance"), label="conformance")
    try:
        yield sandbox
    finally:
        await sandbox.close()


async def exit_codes(provider: Provider) -> None:
    """A command's exit code, output and error output arrive as they are."""
    async with _fork_of(provider) as sandbox:
        done = await sandbox.exec([SHELL, "-c", "printf out; printf err >&2; exit 7"])
        _require(done.code == 7, f"exit code 7 arrived as {done.code}")  # noqa: PLR2004  # the 7 above
        _require((done.stdout, done.stderr) == (b"out", b"err"), f"output arrived as {done.stdout!r}, {done.stderr!r}")
        done = await sandbox.exec([SHELL, "-c", "kill -TERM $$"])
        _require(done.code == 128 + 15, f"an end by signal 15 arrived as {done.code}")


async def arguments(provider: Provider) -> None:
    """Arguments are not interpreted, and neither are bytes on standard input."""
    hostile = "$(echo no) `echo no` ; \n * 'quoted' \"double\" \\ é"
    async with _fork_of(provider) as sandbox:
        done = await sandbox.exec([SHELL, "-c", 'printf "%s" "$1"', SHELL, hostile])
        _require(done.stdout == hostile.encode(), f"an argument arrived as {done.stdout!r}")
        every_byte = bytes(range(256)) * 1024
        done = await sandbox.exec(["cat"], stdin=every_byte)
        _require(done.stdout == every_byte, "standard input did not come through unchanged")


async def environment_and_folder(provider: Provider) -> None:
    """Environment is the template's, then the call's; a command starts in the work folder."""
    template = Template(env={"FROM_TEMPLATE": "a", "BOTH": "a"})
    async with _fork_of(provider, template) as sandbox:
        done = await sandbox.exec([SHELL, "-c", "echo $FROM_TEMPLATE $BOTH; pwd"], env={"BOTH": "b"})
        _require(done.stdout == b"a b\n/work\n", f"environment and folder arrived as {done.stdout!r}")
        done = await sandbox.exec(["pwd"], cwd="/tmp")  # noqa: S108  # a path inside
        _require(done.stdout == b"/tmp\n", f"cwd arrived as {done.stdout!r}")


async def unknown_program(provider: Provider) -> None:
    """A program that is not there is a result that says so."""
    async with _fork_of(provider) as sandbox:
        done = await sandbox.exec(["no-such-program-anywhere"])
        _require(done.code == -1 and done.error and not done.ok, f"an unknown program gave {done}")


async def time_limit(provider: Provider) -> None:
    """A timeout is a result, kills the whole tree, and leaves the sandbox usable."""
    async with _fork_of(provider) as sandbox:
        script = "trap '' TERM INT HUP; (trap '' TERM; while :; do date +%s%N > beat; sleep 0.05; done) & wait"
        done = await sandbox.exec([SHELL, "-c", script], timeout=1)
        _require(done.timed_out and not done.ok, f"a command past its time limit gave {done}")
        first = await sandbox.read("beat")
        await asyncio.sleep(0.5)
        _require(first == await sandbox.read("beat"), "a child of a timed-out command still runs")


async def output_limit(provider: Provider) -> None:
    """Too much output keeps its head and its tail and says how much there was; a flood is cut off."""
    async with _fork_of(provider) as sandbox:
        done = await sandbox.exec([SHELL, "-c", "printf head; head -c 20000 /dev/zero; printf tail"], limit=1000)
        _require(len(done.stdout) <= 1000, f"{len(done.stdout)} bytes were kept of at most 1000")  # noqa: PLR2004
        _require(done.stdout.startswith(b"head") and done.stdout.endswith(b"tail"), "head or tail was lost")
        _require(done.stdout_total == 20008, f"20008 bytes were counted as {done.stdout_total}")  # noqa: PLR2004
        done = await sandbox.exec(["cat", "/dev/zero"], limit=1000, timeout=PROMPT)
        _require(done.flooded and not done.timed_out, f"an endless output gave {done}")


async def background_jobs(provider: Provider) -> None:
    """A command's end is not delayed by children that hold its output, and these live on for the next command."""
    async with _fork_of(provider) as sandbox:
        done = await sandbox.exec([SHELL, "-c", "sleep 300 & echo $! > pid"], timeout=PROMPT)
        _require(done.ok, f"a command waited for its background job: {done}")
        done = await sandbox.exec([SHELL, "-c", "kill -0 $(cat pid)"])
        _require(done.ok, "a background job did not stay up between two commands")


async def files(provider: Provider) -> None:
    """Files go in and out unchanged; what can't be read says how."""
    async with _fork_of(provider) as sandbox:
        data = bytes(range(256)) * 5000
        await sandbox.write("deep/er/file", data, mode=0o755)
        _require(await sandbox.read("/work/deep/er/file") == data, "a file came back changed")
        _require((await sandbox.exec(["test", "-x", "deep/er/file"])).ok, "the mode of a written file was lost")
        await sandbox.exec([SHELL, "-c", "ln -s /etc/passwd link; ln -s deep folder; mkfifo fifo; mkdir dir"])
        for path in ("missing", "link", "folder/er/file", "fifo", "dir"):
            try:
                await sandbox.read(path)
            except FileNotFoundError:
                continue
            raise ConformanceError(f"reading {path!r} did not raise FileNotFoundError")
        try:
            await sandbox.read("deep/er/file", limit=1000)
        except ValueError:
            return
        raise ConformanceError("a file over the limit did not raise ValueError")


async def conversation(provider: Provider) -> None:
    """A started command answers line by line, and its end is told."""
    async with _fork_of(provider) as sandbox:
        process = await sandbox.start([SHELL, "-c", "while read line; do echo got $line; done; exit 3"])
        for word in (b"one", b"two"):
            await process.send(word + b"\n")
            _require(await process.receive() == b"got " + word + b"\n", "an answer did not arrive")
        done = await process.finish()
        _require(done.code == 3, f"exit code 3 arrived as {done.code}")  # noqa: PLR2004  # the 3 above
        process = await sandbox.start(["cat", "/dev/zero"], timeout=PROMPT)
        try:
            await process.receive(limit=1000)
        except ValueError:
            return
        raise ConformanceError("an endless line did not raise ValueError")


async def forks(provider: Provider) -> None:
    """A fork has the files of its original as they were, and neither sees what the other does next."""
    async with _fork_of(provider) as sandbox:
        await sandbox.write("before", b"1")
        fork = await sandbox.fork()
        try:
            await sandbox.write("before", b"changed")
            await fork.write("mine", b"2")
            _require(await fork.read("before") == b"1", "a fork saw a later change of its original")
            _require(not (await sandbox.exec(["test", "-e", "mine"])).ok, "an original saw a change of its fork")
        finally:
            await fork.close()


async def template_forks(provider: Provider) -> None:
    """Two sandboxes of one template do not see each other."""
    async with _fork_of(provider) as one, _fork_of(provider) as two:
        await one.write("x", b"1")
        _require(not (await two.exec(["test", "-e", "/work/x"])).ok, "one fork of a template saw the files of another")


async def no_network(provider: Provider) -> None:
    """Without being asked for there is no network but loopback."""
    script = "cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' '"
    async with _fork_of(provider) as sandbox:
        done = await sandbox.exec([SHELL, "-c", script])
        _require(set(done.stdout.split()) <= {b"lo"}, f"network devices inside: {done.stdout!r}")


async def memory_limit(provider: Provider) -> None:
    """A command that takes too much memory ends, and the sandbox lives on."""
    bomb = "x = []\nwhile True: x.append(bytearray(8 << 20))"
    async with _fork_of(provider, Template(limits=replace(Limits(), memory=256 * MiB))) as sandbox:
        done = await sandbox.exec(["python3", "-c", bomb], timeout=60)
        _require(not done.ok and not done.timed_out, f"a memory bomb gave {done}")
        _require((await sandbox.exec(["true"])).ok, "the sandbox did not survive a memory bomb")


async def process_limit(provider: Provider) -> None:
    """A fork bomb ends at its time limit, and the sandbox lives on."""
    bomb = "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass"
    async with _fork_of(provider, Template(limits=replace(Limits(), processes=64))) as sandbox:
        done = await sandbox.exec(["python3", "-c", bomb], timeout=2)
        _require(not done.ok, f"a fork bomb gave {done}")
        _require((await sandbox.exec(["true"])).ok, "the sandbox did not survive a fork bomb")


async def disk_limit(provider: Provider) -> None:
    """Filling the disk fails inside, and the sandbox lives on."""
    template = Template(limits=replace(Limits(), disk=8 * MiB, files=500))
    async with _fork_of(provider, template) as sandbox:
        done = await sandbox.exec(["dd", "if=/dev/zero", "of=fill", "bs=1M", "count=32"], timeout=60)
        _require(not done.ok, "a file larger than the disk limit was written")
        await sandbox.exec(["rm", "-f", "fill"])
        script = "i=0; while [ $i -lt 2000 ]; do : > f$i || exit 9; i=$((i+1)); done"
        done = await sandbox.exec([SHELL, "-c", script], timeout=60)
        _require(not done.ok, "more files than the limit were made")
        _require((await sandbox.exec(["true"])).ok, "the sandbox did not survive a full disk")


async def closing(provider: Provider) -> None:
    """A closed sandbox says that it is lost; closing twice is nothing; a running command is told."""
    sandbox = await provider.open(Template(), label="conformance")
    running = asyncio.ensure_future(sandbox.exec(["sleep", "300"]))
    await asyncio.sleep(0.2)
    await sandbox.close()
    await sandbox.close()
    try:
        await running
    except SandboxLost:
        pass
    else:
        raise ConformanceError("a command in a sandbox that was closed did not raise SandboxLost")
    try:
        await sandbox.exec(["true"])
    except SandboxLost:
        return
    raise ConformanceError("a closed sandbox did not raise SandboxLost")


async def isolation_told(provider: Provider) -> None:
    """A sandbox says what holds in it, and is never the kernel's root."""
    async with _fork_of(provider) as sandbox:
        _require(sandbox.isolation.kernel_uid != 0, "commands run as the kernel's root")
        _require(sandbox.isolation.provider == provider.name, "the provider's name is not the sandbox's")


CHECKS: tuple[Callable[[Provider], Awaitable[None]], ...] = (
    exit_codes,
    arguments,
    environment_and_folder,
    unknown_program,
    time_limit,
    output_limit,
    background_jobs,
    files,
    conversation,
    forks,
    template_forks,
    no_network,
    memory_limit,
    process_limit,
    disk_limit,
    closing,
    isolation_told,
)


async def run(provider: Provider) -> list[Result]:
    """Run every check, one after another. A check that can't be made counts as failed, with the reason."""
    results: list[Result] = []
    for check in CHECKS:
        began = time.monotonic()
        problem = ""
        try:
            await check(provider)
        except (ConformanceError, SandboxError, OSError, ValueError) as error:
            problem = str(error) or repr(error)
        results.append(Result(getattr(check, "__name__", repr(check)), problem, time.monotonic() - began))
    return results
