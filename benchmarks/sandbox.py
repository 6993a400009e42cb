"""What a fork of a template and a command in it cost, beside bare bubblewrap, containers, `cp -a` and a subprocess.

    python benchmarks/sandbox.py [--rounds 100] [--big]

Each round runs every way once, so that a busy machine hits all alike; the least time of each way is shown. "Bare" is
bubblewrap with the same binds, the same kind of upper and the same kind of pid 1 (a Python that starts one command),
and nothing else: no limits, no filter, no answer. On a busy machine compare the CPU columns: wall time is then mostly
waiting. `--big` adds a layer of 500 MB in 20,000 files.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rubricgrade.errors import SandboxError
from rubricgrade.sandbox import BubblewrapProvider, Layer, Template, base_template, launch
from rubricgrade.sandbox.containers import ContainerProvider, Engine

AT_ONCE = 8
PID1 = "import os; p = os.fork() or os.execv('/usr/bin/true', ['true']); os.waitpid(p, 0)"
Way = Callable[[], Awaitable[float]]


def fill(folder: Path, files: int, size: int) -> None:
    data = os.urandom(size)
    for index in range(files):
        place = folder / f"{index // 100}"
        place.mkdir(exist_ok=True)
        (place / f"{index}").write_bytes(data)


def bare_command(provider: BubblewrapProvider, layer: Path, upper: Path | None, pid1: list[str]) -> list[str]:
    inside = provider.interior()
    words = [launch.bwrap()]
    words += (
        ["--userns", str(launch.user_namespace())]
        if os.geteuid() == 0
        else ["--unshare-user", "--uid", "0", "--gid", "0"]
    )
    words += ["--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try", "--unshare-net", "--as-pid-1"]
    words += ["--new-session", "--clearenv", "--cap-add", "ALL", "--hostname", "sandbox"]
    for folder, place in inside.binds:
        words += ["--ro-bind", str(folder), place]
    for target, place in inside.links:
        words += ["--symlink", target, place]
    words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/dev/shm", "--overlay-src", str(layer)]
    words += ["--overlay", str(upper / "u"), str(upper / "w"), "/work"] if upper else ["--tmp-overlay", "/work"]
    return [*words, "--remount-ro", "/dev", "--remount-ro", "/", "--", *pid1]


def run_bare(provider: BubblewrapProvider, layer: Path, kind: str, pid1: list[str]) -> float:
    began = time.perf_counter()
    upper = None
    if kind == "disk":
        upper = Path(tempfile.mkdtemp(dir="/var/tmp"))
        (upper / "u").mkdir()
        (upper / "w").mkdir()
    command = bare_command(provider, layer, upper, pid1)
    fds = [launch.user_namespace()] if os.geteuid() == 0 else []
    subprocess.run(command, check=True, pass_fds=fds)
    if upper:
        (upper / "w" / "work").chmod(0o700)
        shutil.rmtree(upper)
    return time.perf_counter() - began


async def run_ours(provider: BubblewrapProvider, template: Template) -> float:
    began = time.perf_counter()
    sandbox = await provider.open(template)
    assert (await sandbox.exec(["true"])).ok
    await sandbox.close()
    return time.perf_counter() - began


async def run_containers(rounds: int) -> None:
    """The same by the engines that this host has, through the same contract."""
    for engine in ("docker", "podman"):
        if not shutil.which(engine):
            print(f"\n  {engine}: not measured, it is not installed")
            continue
        provider, best = ContainerProvider(Engine((engine,))), float("inf")
        try:
            for _ in range(rounds):
                began = time.perf_counter()
                sandbox = await provider.open(base_template())
                assert (await sandbox.exec(["true"])).ok
                await sandbox.close()
                best = min(best, time.perf_counter() - began)
        except SandboxError as error:
            print(f"\n  {engine}: not measured: {str(error).splitlines()[0][:100]}")
            continue
        print(f"\n  {f'a container of {engine}: run + exec + remove':<44}{best * 1e3:9.2f} ms")


def run_copy(layer: Path) -> float:
    began = time.perf_counter()
    to = tempfile.mkdtemp(dir="/var/tmp")
    subprocess.run(["cp", "-a", str(layer), to], check=True)
    subprocess.run(["true"], check=True)
    shutil.rmtree(to)
    return time.perf_counter() - began


async def together(way: Way) -> float:
    """Seconds per one, when several run at once."""
    began = time.perf_counter()
    await asyncio.gather(*(way() for _ in range(AT_ONCE)))
    return (time.perf_counter() - began) / AT_ONCE


async def bare_subprocess() -> float:
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec("true", stdout=-1, stderr=-1)
    await process.communicate()
    return time.perf_counter() - began


def cpu() -> float:
    """Seconds of CPU time of this process and of every child that has been waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


async def measure(ways: dict[str, Way], rounds: int) -> dict[str, tuple[float, float]]:
    """The least wall time of each way, and the least CPU time, which a busy machine blurs less."""
    best = dict.fromkeys(ways, (float("inf"), float("inf")))
    for _ in range(rounds):
        for name, way in ways.items():
            before = cpu()
            seconds = await way()
            best[name] = (min(best[name][0], seconds), min(best[name][1], cpu() - before))
    return best


def show(title: str, best: dict[str, tuple[float, float]], base: str) -> None:
    print(f"\n{title:<46}{'wall':>12}{'ratio':>10}{'CPU':>12}{'ratio':>10}")
    for name, (wall, used) in best.items():
        print(
            f"  {name:<44}{wall * 1e3:9.2f} ms{wall / best[base][0]:8.2f} x"
            f"{used * 1e3:9.2f} ms{used / best[base][1]:8.2f} x"
        )


def made(above: str, name: str, files: int, size: int) -> Path:
    source = Path(above, name)
    source.mkdir()
    fill(source, files, size)
    return source


def run_on_host() -> float:
    began = time.perf_counter()
    subprocess.run(["true"], check=True, capture_output=True)
    return time.perf_counter() - began


async def main(rounds: int, *, big: bool) -> None:
    provider = BubblewrapProvider()
    inside = await asyncio.to_thread(provider.interior)
    pool = ThreadPoolExecutor(AT_ONCE)
    asyncio.get_running_loop().set_default_executor(pool)
    python = [inside.python, "-I", "-S", "-B", "-c", PID1]
    growth: dict[tuple[str, str], float] = {}
    with tempfile.TemporaryDirectory(dir="/var/tmp") as above:
        for name, files, size in (("small", 5, 1000), *((("big", 20_000, 25_000),) if big else ())):
            async with provider.stage(made(above, name, files, size)) as layer:
                for kind in ("memory", "disk"):
                    template = base_template(layers=(Layer(layer, "/work", "overlay"),), upper=kind)

                    async def bare(kind: str = kind, layer: Path = layer, pid1: list[str] = python) -> float:
                        return await asyncio.to_thread(run_bare, provider, layer, kind, pid1)

                    async def bare_true(kind: str = kind, layer: Path = layer) -> float:
                        return await asyncio.to_thread(run_bare, provider, layer, kind, ["/usr/bin/true"])

                    async def ours(template: Template = template) -> float:
                        return await run_ours(provider, template)

                    ways: dict[str, Way] = {
                        "bare bwrap, same pid 1": bare,
                        "rubricgrade": ours,
                        "bare bwrap, `true` as pid 1": bare_true,
                    }
                    best = await measure(ways, rounds)
                    show(f"fork + exec + close, {name} layer, {kind} upper", best, "bare bwrap, same pid 1")
                    for way in ("bare bwrap, same pid 1", "rubricgrade"):
                        growth[name, way] = best[way][0]
                    best = await measure(
                        {name: lambda way=way: together(way) for name, way in ways.items()}, max(3, rounds // 4)
                    )
                    show(f"the same, {AT_ONCE} at once (each)", best, "bare bwrap, same pid 1")
                copied = min(run_copy(layer) for _ in range(3 if name == "small" else 1))
                print(f"\n  {f'cp -a of the {name} layer + rm':<44}{copied * 1e3:9.2f} ms")
    if big:
        ratios = {way: growth["big", way] / growth["small", way] for way in ("bare bwrap, same pid 1", "rubricgrade")}
        print(
            "\ngrowth from small to big (disk): " + ", ".join(f"{way} {ratio:.2f} x" for way, ratio in ratios.items())
        )
    await run_containers(max(3, rounds // 4))
    sandbox = await provider.open(base_template())

    async def live() -> float:
        began = time.perf_counter()
        assert (await sandbox.exec(["true"])).ok
        return time.perf_counter() - began

    async def run() -> float:
        return run_on_host()

    best = await measure(
        {
            "asyncio subprocess on the host": bare_subprocess,
            "subprocess.run on the host": run,
            "exec in a live sandbox": live,
        },
        rounds * 5,
    )
    show("one command", best, "asyncio subprocess on the host")
    await sandbox.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--big", action="store_true")
    options = parser.parse_args()
    asyncio.run(main(options.rounds, big=options.big))
