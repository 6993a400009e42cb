"""A sandbox with a list of allowed hosts reaches these by HTTP, and nothing else by any way. The servers are real."""

from __future__ import annotations

import asyncio
import http.server
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.errors import TemplateError
from rubricgrade.sandbox import BubblewrapProvider, Template, hosted
from rubricgrade.sandbox.containers import ContainerProvider, Engine
from rubricgrade.sandbox.live import BubblewrapSandbox
from rubricgrade.sandbox.proxy import PORT, Refused, wanted_by

from .conftest import Use, opened, python
from .test_lifecycle import open_files

GET = """
import sys, urllib.error, urllib.request
for url in sys.argv[1:]:
    try:
        with urllib.request.urlopen(url, timeout=20) as answer: print(answer.status, answer.read().decode())
    except urllib.error.HTTPError as error: print(error.code, error.read().decode().strip())
    except OSError as error: print(error)
"""


class Page(http.server.BaseHTTPRequestHandler):
    """Answers with what it was asked."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.answer(b"")

    def do_POST(self) -> None:
        self.answer(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, body: bytes) -> None:
        text = f"{self.command} {self.path} to {self.headers['Host']} ".encode() + body
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class names it so
        """Say nothing."""


def serve() -> http.server.ThreadingHTTPServer:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    return server


@pytest.fixture
def port() -> Iterator[int]:
    with serve() as server:
        yield server.server_port
        server.shutdown()


async def got(box: BubblewrapSandbox, *urls: str) -> list[str]:
    done = await box.exec(["python3", "-c", GET, *urls])
    return done.stdout.decode().splitlines() or [done.stderr.decode()]


def test_what_is_listed_is_reached_and_nothing_else(use: Use, port: int) -> None:
    async def work(box: BubblewrapSandbox) -> list[str]:
        assert box.isolation.network == f"only 127.0.0.1:{port}"
        return await got(
            box, f"http://127.0.0.1:{port}/a?b=1", f"http://127.0.0.1:{other.server_port}/", "https://127.0.0.1/"
        )

    with serve() as other:
        listed, unlisted, tunnel = use(work, allow=(f"127.0.0.1:{port}",))
        other.shutdown()
    assert listed == f"200 GET /a?b=1 to 127.0.0.1:{port} "
    assert unlisted.startswith("403 127.0.0.1:")
    assert "403 Forbidden" in tunnel


DIRECT = """
import socket, sys
for family, where in ((socket.AF_INET, ('127.0.0.1', int(sys.argv[1]))), (socket.AF_INET, ('8.8.8.8', 53)),
                      (socket.AF_INET6, ('2606:4700::1111', 53))):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(family, kind) as tried:
            tried.settimeout(3)
            try:
                tried.connect(where)
                tried.send(b'x')
                tried.recv(1)
                print('reached', where, kind)
            except OSError: pass
try: print(socket.getaddrinfo('pypi.org', 443))
except OSError: print('no names')
"""


def test_there_is_no_way_around_the_proxy(use: Use, port: int) -> None:
    async def work(box: BubblewrapSandbox) -> str:
        devices = await box.exec(["sh", "-c", "tail -n +3 /proc/net/dev | cut -d: -f1"])
        assert devices.stdout.split() == [b"lo"]
        return (await box.exec(["python3", "-c", DIRECT, str(port)])).stdout.decode()

    assert use(work, allow=(f"127.0.0.1:{port}", "pypi.org")) == "no names\n"


TUNNEL = f"""
import http.client, sys
for _ in range(2):
    tunnel = http.client.HTTPConnection('127.0.0.1', {PORT}, timeout=20)
    tunnel.set_tunnel('127.0.0.1', int(sys.argv[1]))
    for part in (b'x' * 200_000, b'y'):
        tunnel.request('POST', '/p', part)
        print(len(tunnel.getresponse().read()))
"""


def test_tunnels_carry_what_they_are_given_both_ways(use: Use, port: int) -> None:
    async def work(box: BubblewrapSandbox) -> list[bytes]:
        return (await box.exec(["python3", "-c", TUNNEL, str(port)])).stdout.split()

    long, short = (len(f"POST /p to 127.0.0.1:{port} ") + size for size in (200_000, 1))
    assert use(work, allow=(f"127.0.0.1:{port}",)) == [b"%d" % size for size in (long, short, long, short)]


def test_a_server_inside_is_reached_without_the_proxy(use: Use) -> None:
    async def work(box: BubblewrapSandbox) -> list[str]:
        await box.exec(["sh", "-c", "echo own > index.html; python3 -m http.server 8000 >/dev/null 2>&1 &"])
        waiting = "import socket, time\nfor _ in range(200):\n  try: socket.create_connection(('127.0.0.1', 8000)); break\n  except OSError: time.sleep(0.05)"
        await python(box, waiting)
        return await got(box, "http://localhost:8000/", "http://127.0.0.1:8000/")

    assert use(work, allow=("listed.test",)) == ["200 own", "", "200 own", ""]


def test_a_name_that_is_nowhere_is_an_answer_not_a_crash(use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def nowhere(host: str, *_: Any, **__: Any) -> Any:
        asked.append(host)
        raise socket.gaierror("no such name")

    monkeypatch.setattr(socket, "getaddrinfo", nowhere)
    script = "import urllib.request\nurllib.request.urlopen('http://listed.test/')"
    done = use(lambda box: python(box, script), allow=("listed.test",))
    assert b"502" in done.stderr
    assert asked == ["listed.test"]


def test_a_name_that_stands_for_an_inner_address_is_refused_unless_that_is_listed_too(use: Use, port: int) -> None:
    name, address = f"localhost:{port}", f"127.0.0.1:{port}"
    (refused,) = use(lambda box: got(box, f"http://{name}/"), allow=(name,))
    assert refused.startswith("403 localhost stands for ")
    assert "127.0.0.1" in refused
    assert use(lambda box: got(box, f"http://{name}/"), allow=(name, address)) == [f"200 GET / to {name} "]


def test_a_name_that_is_resolved_anew_does_not_lead_elsewhere(
    use: Use, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding: the first answer passes, every later one names an address that is not listed."""
    answers = [f"127.0.0.{number}" for number in range(1, 9)]
    real, asked = socket.getaddrinfo, list[str]()

    def rebinding(host: str, *arguments: Any, **options: Any) -> Any:
        if host != "rebound.test":
            return real(host, *arguments, **options)
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (answers[len(asked) - 1], port))]

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    url = f"http://rebound.test:{port}/"
    first, second = use(lambda box: got(box, url, url), allow=(f"rebound.test:{port}", f"127.0.0.1:{port}"))
    assert first == f"200 GET / to rebound.test:{port} "
    assert second.startswith("403 rebound.test stands for 127.0.0.2")
    assert len(asked) == 2


def test_forks_have_the_same_way_out(use: Use, port: int) -> None:
    async def work(box: BubblewrapSandbox) -> list[str]:
        fork = await box.fork()
        try:
            return await got(fork, f"http://127.0.0.1:{port}/")
        finally:
            await fork.close()

    assert use(work, allow=(f"127.0.0.1:{port}",)) == [f"200 GET / to 127.0.0.1:{port} "]


def test_without_a_list_nobody_listens_and_nothing_is_set(use: Use) -> None:
    script = f"import os, socket\nprint([name for name in os.environ if 'proxy' in name.lower()])\nsocket.create_connection(('127.0.0.1', {PORT}))"
    done = use(lambda box: python(box, script))
    assert done.stdout == b"[]\n"
    assert b"ConnectionRefusedError" in done.stderr


HOLD = f"""
import socket, sys, time
held = [socket.create_connection(('127.0.0.1', {PORT})) for _ in range(20)]
for each in held[:10]: each.sendall(b'CONNECT 127.0.0.1:' + sys.argv[1].encode() + b' HTTP/1.1\\r\\n\\r\\n')
print(all(each.recv(100).startswith(b'HTTP/1.1 200') for each in held[:10]), flush=True)
time.sleep(1000)
"""


def test_close_ends_the_proxy_with_every_connection(provider: BubblewrapProvider, port: int) -> None:
    async def main() -> None:
        async with opened(provider):
            pass
        files, threads = open_files(), threading.active_count()
        async with opened(provider, allow=(f"127.0.0.1:{port}",)) as box:
            holding = await box.start(["python3", "-c", HOLD, str(port)])
            assert await holding.receive() == b"True\n"
        assert [each for each in threading.enumerate() if each.name == "sandbox proxy"] == []
        for _ in range(100):  # the test's own server notices on its own time
            if (open_files(), threading.active_count()) == (files, threads):
                break
            await asyncio.sleep(0.05)
        assert (open_files(), threading.active_count()) == (files, threads)

    asyncio.run(main())


FLOOD = f"""
import socket
def said(data):
    with socket.create_connection(('127.0.0.1', {PORT}), 20) as tie:
        try:
            tie.sendall(data)
            return tie.recv(100).split(b'\\r\\n')[0].decode()
        except OSError as error: return type(error).__name__
print(said(b'GET / HTTP/1.1\\r\\n\\r\\n'), said(b'\\xff' * 100 + b'\\r\\n\\r\\n'), said(b'x' * 300_000), sep='\\n')
"""


def test_garbage_is_answered_and_harms_nobody(use: Use, port: int) -> None:
    async def work(box: BubblewrapSandbox) -> list[str]:
        said = (await box.exec(["python3", "-c", FLOOD])).stdout.decode().splitlines()
        return [*said, *await got(box, f"http://127.0.0.1:{port}/")]

    bare, garbage, flood, after = use(work, allow=(f"127.0.0.1:{port}",))
    assert bare == garbage == "HTTP/1.1 400 Bad Request"
    assert flood in {"HTTP/1.1 431 Request Header Fields Too Large", "ConnectionResetError", "BrokenPipeError"}
    assert after.startswith("200 ")


@pytest.mark.parametrize(
    "head",
    [
        b"", b"GET http://a.test/\r\n\r\n", b"GET ftp://a.test/ HTTP/1.1\r\n\r\n", b"GET http:/// HTTP/1.1\r\n\r\n",
        b"CONNECT a.test HTTP/1.1\r\n\r\n", b"CONNECT a.test:x HTTP/1.1\r\n\r\n", b"CONNECT :80 HTTP/1.1\r\n\r\n",
        b"GET http://[::1/ HTTP/1.1\r\n\r\n", b"GET http://a.test:99999/ HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n",
    ],
)  # fmt: skip
def test_what_is_no_request_to_a_proxy_is_refused(head: bytes) -> None:
    with pytest.raises(Refused):
        wanted_by(head)


def test_the_other_end_is_told_the_host_that_was_looked_up() -> None:
    head = b"POST http://me:secret@a.test:8080/x?y#z HTTP/1.1\r\nHost: inner.test\r\nProxy-Authorization: k\r\nA: b\r\n\r\n"
    wanted = wanted_by(head)
    assert (wanted.host, wanted.port) == ("a.test", 8080)
    assert wanted.head == b"POST /x?y HTTP/1.1\r\nHost: a.test:8080\r\nA: b\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    ("template", "says"),
    [
        (Template(allow=("https://a.test",)), "is no HOST"),
        (Template(allow=("a.test",), network="host"), "both a list of allowed hosts and the host's network"),
    ],
)
def test_a_list_that_can_not_be_kept_is_an_error(provider: BubblewrapProvider, template: Template, says: str) -> None:
    with pytest.raises(TemplateError, match=says):
        asyncio.run(provider.open(template))


class Never:
    name, ttl = "a vendor", 1.0

    async def create(self, template: Template, tag: str) -> Any:
        raise AssertionError("a machine was asked for")

    async def tags(self) -> Any:
        return []

    async def remove(self, identity: str) -> None:
        raise AssertionError(identity)


def test_who_can_not_hold_a_sandbox_to_a_list_says_so(tmp_path: Path) -> None:
    for other in (ContainerProvider(Engine((str(tmp_path / "docker"),))), hosted.HostedProvider(Never())):
        with pytest.raises(TemplateError, match="can't hold a sandbox to it"):
            asyncio.run(other.open(Template(allow=("a.test",))))
