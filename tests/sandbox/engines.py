"""Real docker and podman engines of the tests' own, started on first need and ended with the run."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

IMAGE = "localhost/small:1"
PROGRAMS = (
    *("cat", "cut", "date", "dd", "head", "id", "ln", "ls", "mkdir", "mkfifo", "printf", "pwd", "readlink", "rm", "sh"),
    *("sleep", "tail", "test", "touch", "tr", "true"),
)


@contextmanager
def docker() -> Generator[tuple[str, ...]]:
    """A docker daemon with everything it has in a folder of its own; it touches no network."""
    if os.geteuid() != 0 or not shutil.which("dockerd"):
        pytest.skip("docker can't be started here: that takes root, and dockerd (apt-get install docker.io)")
    with tempfile.TemporaryDirectory(prefix="dockerd-", dir="/var/tmp", ignore_cleanup_errors=True) as folder:
        address = f"unix://{folder}/socket"
        words = ["dockerd", "--data-root", f"{folder}/data", "--exec-root", f"{folder}/run", "-H", address]
        words += ["--pidfile", f"{folder}/pid", "--iptables=false", "--ip6tables=false", "--bridge=none"]
        with Path(folder, "log").open("wb") as log, subprocess.Popen(words, stdout=log, stderr=log) as daemon:
            try:
                command = ("docker", "-H", address)
                wait_for([*command, "version"], daemon, Path(folder, "log"))
                yield command
            finally:
                daemon.terminate()
                daemon.wait(60)


def wait_for(words: list[str], daemon: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(120):
        if subprocess.run(words, capture_output=True, check=False).returncode == 0:
            return
        if daemon.poll() is not None:
            break
        time.sleep(0.5)
    pytest.skip(f"dockerd does not start here: {log.read_text()[-300:]}")


@contextmanager
def podman() -> Generator[tuple[str, ...]]:
    """podman with a store of its own."""
    if not shutil.which("podman"):
        pytest.skip("podman is not installed (apt-get install podman runc)")
    with tempfile.TemporaryDirectory(prefix="podman-", dir="/var/tmp", ignore_cleanup_errors=True) as folder:
        command = ("podman", "--root", f"{folder}/root", "--runroot", f"{folder}/run", "--cgroup-manager", "cgroupfs")
        if runc := shutil.which("runc"):
            command += ("--runtime", runc)  # crun does not run where both versions of control groups are mounted
        asked = subprocess.run([*command, "info"], capture_output=True, check=False)
        if asked.returncode:
            pytest.skip(f"podman does not work here: {asked.stderr.decode()[-300:]}")
        yield command
        subprocess.run([*command, "rm", "--all", "--force"], capture_output=True, check=False)
        subprocess.run(["umount", "--recursive", f"{folder}/root"], capture_output=True, check=False)


ENGINES = {"docker": docker, "podman": podman}


@functools.cache
def small_system() -> Path:
    """A tar with Python, a shell and what else the checks call, copied from this host: an image without a registry."""
    packed = Path(tempfile.mkdtemp(prefix="system-", dir="/var/tmp")) / "system.tar"
    python = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    library = Path(sysconfig.get_path("stdlib", vars={"base": sys.base_prefix, "installed_base": sys.base_prefix}))
    programs = [found for name in PROGRAMS if (found := shutil.which(name))]
    files = {str(python), *programs}
    for binary in [python, *map(Path, programs), *library.glob("lib-dynload/*.so")]:
        listed = subprocess.run(["ldd", binary], capture_output=True, text=True, check=False).stdout
        files |= {word for line in listed.splitlines() for word in line.split() if word.startswith("/")}
    with tarfile.open(packed, "w", dereference=True) as tar:
        for path in sorted(files):
            tar.add(path, path.lstrip("/"))
        tar.add(library, str(library).lstrip("/"), filter=without_ballast)
        for name, text in (("etc/passwd", "root:x:0:0::/:/bin/sh\n"), ("tmp/.keep", "")):
            file = Path(packed.parent, "file")
            file.write_text(text)
            tar.add(file, name)
        link = tarfile.TarInfo("usr/local/bin/python3")
        link.type, link.linkname = tarfile.SYMTYPE, str(python)
        tar.addfile(link)
    return packed


def without_ballast(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return (
        None if any(part in member.name for part in ("site-packages", "/test", "__pycache__", "/idlelib")) else member
    )
