"""A real reward server in a process of its own, and what tests say to it over real sockets."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

PROGRAM = Path(sys.executable).with_name("rubricgrade")
JSON = {"content-type": "application/json"}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        return self.json["error"]["code"]


@dataclass
class Running:
    """`rubricgrade serve` on a free port of loopback; its log is gathered."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    log: list[str] = field(default_factory=list[str])

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--port", "0", *self.arguments],
            stderr=subprocess.PIPE,
            text=True,
            env={"PATH": "/usr/bin:/bin", **self.environment},
        )
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)
            if found := re.search(r"on http://(\S+):(\d+)$", line):
                self.host, self.port = found[1].strip("[]"), int(found[2])
                break
        else:
            raise AssertionError("".join(self.log))
        self._reader = threading.Thread(target=self.log.extend, args=(self.process.stderr,))
        self._reader.start()
        return self

    def __exit__(self, *_raised: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=2)
            self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stderr is not None
        self.process.stderr.close()

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def stop(self) -> int:
        """Tell it to stop, wait, and give its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.ended()

    def ended(self) -> int:
        code = self.process.wait(timeout=60)
        self._reader.join()
        return code

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        return self.send(urllib.request.Request(self.url + path, headers=dict(headers or {})))

    def post(self, path: str, body: Any, headers: Mapping[str, str] = JSON) -> Answer:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.send(urllib.request.Request(self.url + path, data, dict(headers)))

    def send(self, request: urllib.request.Request) -> Answer:
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return Answer(response.status, dict(response.headers), response.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, dict(error.headers), error.read())

    def connect(self) -> socket.socket:
        return socket.create_connection((self.host, self.port), timeout=60)

    def metric(self, name: str) -> float:
        """A metric by its name with labels; 0 when there is none yet."""
        for line in self.get("/metrics").body.decode().splitlines():
            if line.startswith(f"rubricgrade_{name} "):
                return float(line.rpartition(" ")[2])
        return 0.0


def heard(connection: socket.socket) -> Answer:
    """The one answer on a raw connection, read until the server closes it or its length is reached."""
    data = b""
    while b"\r\n\r\n" not in data and (more := connection.recv(65536)):
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", "0")) and (more := connection.recv(65536)):
        body += more
    return Answer(int(first.split(" ")[1]), headers, body)
