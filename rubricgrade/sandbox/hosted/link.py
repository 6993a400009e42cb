"""The tie to a warden on a vendor's machine: each question is one short command there, the answer is what it prints."""

from __future__ import annotations

import asyncio
import errno
import json
import shlex
from collections.abc import Mapping
from typing import Any

from rubricgrade.errors import SandboxLost
from rubricgrade.sandbox.hosted.machine import Machine
from rubricgrade.sandbox.warden.asking import WITHIN

SPARE = 40.0
"""Seconds that a question may take beyond what the warden itself may."""
LONGEST = 120_000
"""Characters of one argument of a command: Linux takes 128 KiB."""

BRIDGE = """
import socket, sys, time
tie = socket.socket(socket.AF_UNIX)
for left in range(int(sys.argv[2]), -1, -1):
    try:
        tie.connect(sys.argv[1])
        break
    except OSError:
        if not left:
            raise
        time.sleep(0.1)
tie.sendall(sys.argv[3].encode() + b"\\n")
while data := tie.recv(1 << 16):
    sys.stdout.buffer.write(data)
"""


class BridgeLink:
    """See `warden.Link`. Belongs to the event loop that made it."""

    piece = 48 << 10
    reply = 512 << 10

    def __init__(self, machine: Machine, prefix: str, socket: str) -> None:
        """Talk to a warden that was started.

        Args:
            machine: Where it runs.
            prefix: What makes a command run as the user who started it, e.g. ``sudo -n``.
            socket: Where it listens.
        """
        self._machine = machine
        self._prefix = prefix
        self._socket = socket
        self._over: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._ending: asyncio.Task[None] | None = None

    async def ask(self, request: Mapping[str, Any], *, tries: int = 0) -> dict[str, Any]:
        """See `warden.Link.ask`.

        Args:
            request: What is asked.
            tries: How often to try again, every tenth of a second, while nobody listens there.
        """
        text = json.dumps(request)
        if len(text) > LONGEST:
            raise OSError(errno.E2BIG, "too long for one message to a hosted sandbox")
        words = ("python3", "-I", "-S", "-c", BRIDGE, self._socket, str(tries), text)
        command = f"{self._prefix}{shlex.join(words)}"
        asking = asyncio.ensure_future(self._machine.run(command, seconds=WITHIN + SPARE))
        try:
            await asyncio.wait({asking, self._over}, return_when=asyncio.FIRST_COMPLETED)
            answer = json.loads(await asking if asking.done() else self._closed())
        except SandboxLost:
            raise
        except Exception as error:  # whatever an SDK raises, nothing came out
            raise SandboxLost(f"the sandbox does not answer: {error!r}") from error
        finally:
            asking.cancel()
        if not isinstance(answer, dict):
            raise SandboxLost("the sandbox gave an answer that can't be understood")
        return answer  # pyright: ignore[reportUnknownVariableType]  # JSON, validated by who asked

    def _closed(self) -> str:
        raise SandboxLost(self._over.result())

    async def close(self) -> None:
        """See `warden.Link.close`."""
        if self._ending is None:
            self._over.set_result("the sandbox was closed")
            self._ending = asyncio.ensure_future(self._machine.end())
        await asyncio.shield(self._ending)
