"""What an agent can reach from inside: nothing of the host, of the grader, or of the kernel's rarely tested corners."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.sandbox import BubblewrapProvider
from rubricgrade.sandbox.seccomp import REFUSED, UNCOUNTED_MEMORY

from .conftest import Use, opened, python, shell

LIBC = "import ctypes, os; libc = ctypes.CDLL(None, use_errno=True)\n"


def errno_of(use: Use, call: str, **template: Any) -> int:
    """The errno of a libc call inside; 0 when it succeeded."""
    script = f"{LIBC}r = libc.{call}\nprint(ctypes.get_errno() if r == -1 else 0)"
    done = use(lambda box: python(box, script), **template)
    assert done.ok, done
    return int(done.stdout)


def statuses(command: bytes) -> list[dict[str, str]]:
    """/proc/PID/status on the host of every process that runs this command."""
    found: list[dict[str, str]] = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and command in (folder / "cmdline").read_bytes():
                lines = (folder / "status").read_text().splitlines()
                found.append({name: value.strip() for name, _, value in (line.partition(":") for line in lines)})
        except OSError:
            continue
    return found


def test_the_kernel_sees_an_ordinary_user(provider: BubblewrapProvider) -> None:
    async def main() -> list[dict[str, str]]:
        async with opened(provider) as box:
            process = await box.start(["sh", "-c", "echo up; read line; : my-own-marker"])
            await process.receive()
            seen = statuses(b": my-own-marker")
            await process.finish()
            return seen

    seen = asyncio.run(main())
    assert seen
    for status in seen:
        assert set(status["Uid"].split()) == set(status["Gid"].split()) == {str(provider.kernel_uid)}
        assert provider.kernel_uid != 0
        assert os.geteuid() != 0 or not status["Groups"]


def test_no_capability_and_no_way_to_one(use: Use) -> None:
    done = use(lambda box: shell(box, "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; cat /proc/self/uid_map"))
    lines = done.stdout.decode().split()
    values = dict(zip(lines[:14:2], lines[1:14:2], strict=True))
    assert {values[f"Cap{kind}:"] for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
    assert values["NoNewPrivs:"] == "1"
    assert values["Seccomp:"] == "2"
    assert lines[14] == "1000"


def test_nothing_but_standard_streams_is_open(use: Use) -> None:
    done = use(lambda box: python(box, "import os; print(sorted(os.listdir('/proc/self/fd'), key=int))", stdin=b"x"))
    assert done.stdout == b"['0', '1', '2', '3']\n"  # 3 is the listing itself


def test_nothing_of_the_hosts_environment(use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_API_KEY", "sk-host-secret")
    done = use(lambda box: shell(box, "env; cat /proc/*/environ | tr '\\0' '\\n'", env={"MINE": "1"}))
    assert b"sk-host-secret" not in done.stdout
    names = {line.partition("=")[0] for line in done.stdout.decode().splitlines()}
    assert names == {"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "PWD", "MINE"}


def test_pid_1_can_not_be_looked_into(use: Use) -> None:
    script = "for f in environ mem maps fd/0 fdinfo/0 cwd root; do head -c 1 /proc/1/$f 2>&1 && echo OPEN $f; done"
    done = use(lambda box: shell(box, script))
    assert b"OPEN" not in done.stdout
    assert b"enied" in done.stdout


HOST_FILES = (
    "/etc/shadow", f"{Path.home()}/.bashrc", "/home", "/run", "/var", "/sys", "/boot", "/mnt", "/srv",
    "/run/docker.sock", "/etc/ssh", "/etc/hostid", "/dev/sda", "/dev/kmsg", "/dev/mem", "/dev/vda", "/dev/kvm",
)  # fmt: skip


def test_nothing_of_the_hosts_files(use: Use) -> None:
    done = use(lambda box: shell(box, f"ls -d {' '.join(HOST_FILES)}; cat /etc/passwd; find /root -xdev | head"))
    lines = done.stdout.decode().splitlines()
    assert not set(HOST_FILES) & set(lines)
    assert "agent:x:1000:1000:agent:/tmp/home:/bin/sh" in lines
    assert not any(line.startswith(("daemon:", "postgres:")) for line in lines)


def test_a_file_of_the_test_run_is_not_there(use: Use, tmp_path: Path) -> None:
    (tmp_path / "sealed").write_text("the answer is 42")
    done = use(
        lambda box: shell(
            box, f"cat {tmp_path}/sealed; grep -r 'the answer is 42' /tmp /var /root /work --include=sealed 2>/dev/null"
        )
    )
    assert b"42" not in done.stdout


def test_only_the_given_places_can_be_written(use: Use) -> None:
    script = """
for place in / /usr /usr/lib /etc /dev /opt /opt/env /opt/env/bin /proc /root /bin/sh /dev/pts; do
    (echo x > $place/x || echo x >> $place) 2>/dev/null && echo WROTE $place
done
for place in /work /tmp /dev/shm $HOME; do echo x > $place/x && echo ok; done
"""
    assert use(lambda box: shell(box, script)).stdout.split() == [b"ok"] * 4


def test_kernel_switches_can_not_be_written(use: Use) -> None:
    script = """
for f in kernel/core_pattern vm/drop_caches kernel/hostname net/ipv4/ip_forward user/max_user_namespaces; do
    (echo 1 > /proc/sys/$f) 2>/dev/null && echo WROTE $f
done
(echo b > /proc/sysrq-trigger) 2>/dev/null && test -s /proc/sysrq-trigger && echo WROTE sysrq
cat /proc/cmdline /proc/kallsyms /proc/keys /proc/timer_list /proc/config.gz /proc/kmsg 2>/dev/null | head -c 100
true
"""
    assert use(lambda box: shell(box, script)).stdout == b""


def test_set_user_id_bits_have_no_effect(use: Use) -> None:
    done = use(
        lambda box: shell(box, "cp /usr/bin/id . && chmod 4755 id && ./id -u && grep -c nosuid /proc/self/mountinfo")
    )
    assert done.stdout.split()[0] == b"1000"
    assert (
        use(lambda box: shell(box, "awk '$5 ~ /^.(work|tmp|usr)/ && $6 !~ /nosuid/' /proc/self/mountinfo")).stdout
        == b""
    )


SOCKETS = {"AF_VSOCK": 40, "AF_PACKET": 17, "AF_ALG": 38, "AF_BLUETOOTH": 31, "AF_XDP": 44, "AF_KEY": 15, "AF_TIPC": 30}


@pytest.mark.parametrize("family", SOCKETS)
def test_socket_families_that_no_namespace_confines(use: Use, family: str) -> None:
    assert errno_of(use, f"socket({SOCKETS[family]}, 1, 0)") == 97


@pytest.mark.parametrize("family", [1, 2, 10, 16])
def test_ordinary_socket_families_work(use: Use, family: int) -> None:
    assert errno_of(use, f"socket({family}, {3 if family == 16 else 1}, 0)") == 0


def test_the_hosts_loopback_and_network_are_out_of_reach(provider: BubblewrapProvider) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f"""
import socket
for address in ("127.0.0.1", "192.0.2.1"):
    try: socket.create_connection((address, {port}), 2)
    except OSError as error: print(error.errno)
s = socket.create_server(("127.0.0.1", 0)); socket.create_connection(s.getsockname()); print("own loopback works")
"""

        async def main() -> bytes:
            async with opened(provider) as box:
                return (await python(box, script)).stdout

        assert asyncio.run(main()) == b"111\n101\nown loopback works\n"
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused_calls(use: Use, name: str) -> None:
    number = REFUSED[name][["x86_64", "aarch64"].index(os.uname().machine)]
    if number is None:
        pytest.skip("no such call on this machine")
    assert errno_of(use, f"syscall({number}, 0, 0, 0, 0, 0, 0)") == 1


def test_memory_that_nothing_counts(provider: BubblewrapProvider, use: Use) -> None:
    counted = use(lambda box: asyncio.sleep(0, box.isolation.memory)).startswith("cgroup")
    number = UNCOUNTED_MEMORY["memfd_create"][["x86_64", "aarch64"].index(os.uname().machine)]
    assert errno_of(use, f"syscall({number}, b'x', 0)") == (0 if counted else 1)


def test_no_new_namespace_by_any_call(use: Use) -> None:
    assert errno_of(use, "unshare(0x10000000)") == 1
    assert errno_of(use, "syscall(435, 0, 0)") == 38  # clone3: libc falls back to clone
    if os.uname().machine == "x86_64":
        assert errno_of(use, "syscall(56, 0x10000011, 0, 0, 0, 0)") == 1


def test_a_terminal_can_not_be_typed_into(use: Use) -> None:
    script = (
        LIBC
        + "import pty, fcntl\na, b = pty.openpty()\ntry: fcntl.ioctl(b, 0x5412, b'x')\nexcept OSError as e: print(e.errno)"
    )
    assert use(lambda box: python(box, script)).stdout == b"1\n"


def test_a_command_must_keep_its_children(use: Use) -> None:
    assert errno_of(use, "prctl(36, 0, 0, 0, 0)") == 1
    assert errno_of(use, "prctl(36, 1, 0, 0, 0)") == 0


def test_neighbours_in_one_sandbox_share_nothing_with_another(provider: BubblewrapProvider) -> None:
    async def main() -> tuple[bytes, bytes]:
        async with opened(provider) as one, opened(provider) as two:
            await shell(one, "sleep 100 & echo x > /dev/shm/x; echo x > /tmp/x")
            return (await shell(two, "ps ax -o comm= 2>/dev/null || ls /proc")).stdout, (
                await shell(two, "ls /tmp /dev/shm")
            ).stdout

    processes, files = asyncio.run(main())
    assert b"sleep" not in processes
    assert b"x" not in files.split()


def test_ordinary_programs_work(use: Use) -> None:
    script = """
import asyncio, multiprocessing, pty, tempfile, sqlite3, ssl, subprocess, threading
async def main():
    p = await asyncio.create_subprocess_exec("echo", "hi", stdout=-1)
    return (await p.communicate())[0]
print(asyncio.run(main()), multiprocessing.get_context("fork").Pool(2).map(abs, [-1, 2]), sqlite3.connect("x.db").execute("select 1").fetchone())
from multiprocessing.shared_memory import SharedMemory
m = SharedMemory(create=True, size=100); m.close(); m.unlink()
pty.spawn(["true"]); print(tempfile.mkdtemp()[:5])
"""
    done = use(lambda box: python(box, script))
    assert done.ok, done.stderr
    assert b"b'hi\\n' [1, 2] (1,)" in done.stdout


def test_python_inside_is_ours_with_its_packages_and_this_package(use: Use) -> None:
    script = "import sys, rubricgrade, pytest; print(sys.prefix, sys.version_info[:3], rubricgrade.__file__)"
    done = use(lambda box: box.exec(["python3", "-I", "-c", script]))
    assert done.ok, done.stderr
    assert done.stdout.decode().startswith(f"/opt/env {sys.version_info[:3]}")
    assert use(lambda box: box.exec(["pytest", "--version"])).stdout.startswith(b"pytest")


def test_a_template_that_asks_for_the_network_gets_it_and_says_so(provider: BubblewrapProvider) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        async def main() -> None:
            async with opened(provider, network="host") as box:
                assert box.isolation.network == "host"
                script = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 5)"
                assert (await python(box, script)).ok

        asyncio.run(main())
        server.setblocking(False)
        connection, _ = server.accept()
        connection.close()
