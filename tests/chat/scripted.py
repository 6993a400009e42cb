"""A real HTTP server in a thread of its own that answers by a script and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Wire:
    """One answer, down to the bytes.

    `reset_after`: cut the connection after that many bytes of the body. `raw`: the body is all, with no HTTP around it.
    `held_for`: the body waits behind the headers until that many requests have come. `afterwards`: what comes on the connection behind the answer, unasked.
    """

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    reset_after: int | None = None
    endless: bool = False
    hang: bool = False
    raw: bool = False
    held_for: int = 0
    afterwards: bytes = b""


@dataclass(frozen=True)
class Seen:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float


def completion(text: str | None = "yes", finish: str = "stop", **changes: Any) -> Wire:
    message = {"role": "assistant", "content": text, **changes.pop("message", {})}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110, **changes.pop("usage", {})}
    value = {
        "id": "c-1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "served-model",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": usage,
    }
    return Wire(json.dumps({**value, **changes}).encode())


def error(status: int, message: str = "no", headers: dict[str, str] | None = None, **fields: Any) -> Wire:
    return Wire(json.dumps({"error": {"message": message, **fields}}).encode(), status, headers or {})


ON_ITS_WAY = 0.25
"""Seconds that the first request may be longer on its way to a busy machine's server than the last."""


def spread(server: ScriptedServer) -> float:
    """Seconds from the first request to the last."""
    return server.seen[-1].at - server.seen[0].at


class ScriptedServer:
    """Answers with `script` in order and with its last entry from then on. An entry may be a function of the request."""

    def __init__(self) -> None:
        self.script: list[Wire | Callable[[Seen], Wire]] = [completion()]
        self.seen: list[Seen] = []
        self.now = 0
        self.peak = 0
        self.connections = 0
        self.connected = 0
        self.unasked = 0
        self._arrived = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
        self.port: int = self._server.sockets[0].getsockname()[1]

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def base(self) -> str:
        return f"{self.origin}/v1"

    def wait_for(self, requests: int) -> None:
        """Block until so many requests have come."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: len(self.seen) >= requests, timeout=30)

    def wait_for_unasked(self, answers: int) -> None:
        """Block until so many have been sent that nobody asked for."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: self.unasked >= answers, timeout=30)

    def wait_until_left(self) -> None:
        """Block until no client is connected."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: not self.connected, timeout=30)

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _open(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 26)

    async def _end(self) -> None:
        self._server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.connected += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                first, *lines = head.strip().split("\r\n")
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                is_form = "form" in headers.get("content-type", "")
                value = {} if is_form else json.loads(body or b"{}")
                seen = Seen(first.split(" ")[1], headers, value, time.monotonic())
                with self._arrived:
                    self.seen.append(seen)
                    self._arrived.notify_all()
                step = self.script[min(len(self.seen), len(self.script)) - 1]
                self.now += 1
                self.peak = max(self.peak, self.now)
                try:
                    await self._answer(writer, step(seen) if callable(step) else step)
                finally:
                    self.now -= 1
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the client has gone, or the server is being closed
        finally:
            writer.transport.abort()
            with self._arrived:
                self.connected -= 1
                self._arrived.notify_all()

    async def _answer(self, writer: asyncio.StreamWriter, wire: Wire) -> None:
        await asyncio.sleep(3600 if wire.hang else wire.delay)
        if wire.raw:
            writer.write(wire.body)
            await writer.drain()
            raise ConnectionAbortedError
        headers = {"content-type": "application/json", **wire.headers}
        if wire.endless:
            headers["transfer-encoding"] = "chunked"
        else:
            headers.setdefault("content-length", str(len(wire.body)))
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 {wire.status} X\r\n{head}\r\n".encode())
        if wire.held_for:
            await asyncio.to_thread(self.wait_for, wire.held_for)
        while wire.endless:
            writer.write(b"%x\r\n%s\r\n" % (len(wire.body), wire.body))
            await writer.drain()
        writer.write(wire.body[: wire.reset_after])
        await writer.drain()
        if wire.afterwards:
            await asyncio.sleep(0.05)
            writer.write(wire.afterwards)
            await writer.drain()
            with self._arrived:
                self.unasked += 1
                self._arrived.notify_all()
        if wire.reset_after is not None:
            writer.transport.abort()
            raise ConnectionAbortedError
