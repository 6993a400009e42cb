"""The only way out of a sandbox with a list of allowed hosts: a proxy on our side, for HTTP and for tunnels (CONNECT).

Its listening socket was made inside, on the sandbox's own loopback, and handed out to us: connections from inside
arrive here, the ones it makes go out from the host, and nothing else connects the two. What comes in is hostile.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from dataclasses import dataclass
from urllib.parse import urlsplit

from rubricgrade.sandbox.allowed import Allowed

PORT = 3128
"""Where it is found inside."""
URL = f"http://127.0.0.1:{PORT}"
HEAD = 1 << 16
"""Bytes of the head of a request."""
HEAD_WAIT = 30.0
"""Seconds in which a request must be made."""
CONNECT_WAIT = 30.0
"""Seconds in which the other end must answer."""
AT_ONCE = 64
"""Connections at any time."""
CHUNK = 1 << 16
STOP_WAIT = 10.0
_HOPS = ("proxy-authorization", "proxy-connection", "connection", "keep-alive", "host")
"""Headers that are between the client and us, or that we set."""


def environment(allowed: Allowed) -> dict[str, str]:
    """What programs inside need to find the proxy.

    The sandbox's own loopback is asked directly, except for a name of it that is listed: there the host's is meant.
    """
    listed = {host for host, _ in allowed.ends}
    direct = ",".join(name for name in ("localhost", "127.0.0.1", "::1") if name not in listed)
    values = {"http_proxy": URL, "https_proxy": URL, "no_proxy": direct}
    return values | {name.upper(): value for name, value in values.items()}


class Refused(Exception):
    """A request that is not served, with the status and the text of the answer."""

    def __init__(self, status: str, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a client asks for.

    Attributes:
        host: Name or address.
        port: Its port.
        head: What the other end is to be sent first; empty for a tunnel.
    """

    host: str
    port: int
    head: bytes


class Proxy:
    """Serves one sandbox, in a thread of its own, until it is stopped."""

    def __init__(self, listener: socket.socket, allowed: Allowed) -> None:
        """Begin to serve.

        Args:
            listener: Listens inside; closed by `stop`.
            allowed: Whom may be connected to.
        """
        self._listener = listener
        self._allowed = allowed
        # A loop does not keep its tasks: one that waits for a connection that only it knows would be collected with it.
        self._open: set[asyncio.Task[None] | None] = set()
        self._loop = asyncio.new_event_loop()
        self._over = self._loop.create_future()
        self._thread = threading.Thread(target=self._run, name="sandbox proxy", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close everything. Returns when it is closed. May be called twice."""
        with contextlib.suppress(RuntimeError):  # its loop is closed already
            self._loop.call_soon_threadsafe(self._finish)
        self._thread.join(STOP_WAIT)

    def _finish(self) -> None:
        if not self._over.done():
            self._over.set_result(None)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._converse, sock=self._listener, limit=HEAD)
        await self._over
        server.close()  # what is still open is cancelled when the loop ends

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        talk = asyncio.current_task()
        self._open.add(talk)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):  # whoever hangs up needs no answer
                await self._answer(reader, writer)
        finally:
            self._open.discard(talk)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self._require_room()
            wanted = wanted_by(await _head(reader))
            there = await self._connect(wanted)
        except Refused as refusal:
            text = f"{refusal}\n".encode()
            head = f"HTTP/1.1 {refusal.status}\r\nContent-Type: text/plain\r\nContent-Length: {len(text)}\r\n"
            writer.write(head.encode() + b"Connection: close\r\n\r\n" + text)
            await writer.drain()
            return
        far_reader, far_writer = there
        try:
            if wanted.head:
                far_writer.write(wanted.head)
            else:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
        finally:
            far_writer.close()

    def _require_room(self) -> None:
        """Refuse what is too much at once: every connection holds open files of ours."""
        if len(self._open) > AT_ONCE:
            raise Refused("503 Service Unavailable", f"more than {AT_ONCE} connections at once")

    async def _connect(self, wanted: Wanted) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to an address that was looked at, and not to whatever the name stands for a moment later."""
        host, port = wanted.host, wanted.port
        if not self._allowed.names(host, port):
            raise Refused("403 Forbidden", f"{host}:{port} is not in this sandbox's list of allowed hosts")
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise Refused("502 Bad Gateway", f"{host} can't be found: {error}") from error
        addresses = [str(where[0]) for *_, where in found]
        reached = [address for address in addresses if self._allowed.reaches(address, port)]
        if not reached:
            told = f"{host} stands for {', '.join(addresses)}, which is not public and not in the list itself"
            raise Refused("403 Forbidden", told)
        why = ""
        for address in reached:
            try:
                return await asyncio.wait_for(asyncio.open_connection(address, port), CONNECT_WAIT)
            except (OSError, TimeoutError) as error:
                why = str(error) or "no answer"
        raise Refused("502 Bad Gateway", f"{host}:{port} can't be reached: {why}")


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), HEAD_WAIT)
    except asyncio.LimitOverrunError as error:
        raise Refused("431 Request Header Fields Too Large", f"more than {HEAD} bytes of headers") from error
    except TimeoutError as error:
        raise Refused("408 Request Timeout", f"no request within {HEAD_WAIT:g} seconds") from error


def wanted_by(head: bytes) -> Wanted:
    """Understand a request to a proxy.

    Raises:
        Refused: It is none.
    """
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):  # noqa: PLR2004  # method, target, version
        raise Refused("400 Bad Request", "not a request to a proxy")
    method, target, version = words
    try:
        parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
        host, port = parts.hostname or "", parts.port or (0 if method == "CONNECT" else 80)
    except ValueError as error:
        raise Refused("400 Bad Request", f"no host and port: {error}") from error
    if method == "CONNECT":
        if not host or not port:
            raise Refused("400 Bad Request", "a tunnel needs a host and a port")
        return Wanted(host, port, b"")
    if parts.scheme != "http" or not host:
        raise Refused("400 Bad Request", "only http:// is asked of a proxy; anything else goes through a tunnel")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    kept = [line for line in lines if line.partition(":")[0].strip().lower() not in _HOPS]
    authority = parts.netloc.rpartition("@")[2]
    sent = [f"{method} {path} {version}", f"Host: {authority}", *kept, "Connection: close", "", ""]
    return Wanted(host, port, "\r\n".join(sent).encode("latin-1"))


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Carry bytes one way until there are no more, and say so."""
    with contextlib.suppress(OSError):  # the other end hung up
        while data := await source.read(CHUNK):
            sink.write(data)
            await sink.drain()
        sink.write_eof()
