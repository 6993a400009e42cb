"""The tie to a warden over the standard input and output of the engine's own program.

When we die, that input ends, the warden leaves, and the engine removes the container.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rubricgrade.errors import SandboxLost
from rubricgrade.sandbox.contract import MiB
from rubricgrade.sandbox.interior import HOLLOW

LONGEST = 8 * MiB
"""Bytes of one answer."""
LEAVE_WAIT = 10.0
"""Seconds that a container gets to go by itself."""
TAIL = 2000
"""Characters kept of what the engine complains about."""


class PipeLink:
    """See `warden.Link`."""

    piece = MiB
    reply = MiB

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        remove: Callable[[], Awaitable[object]],
        whole: Callable[[], bool],
    ) -> None:
        """Talk to a warden that was started.

        Args:
            process: The engine's program, with pipes; its standard output allows lines of `LONGEST`.
            remove: Ends the container whatever it does.
            whole: As of `sandbox.command.Command`.
        """
        self._process = process
        self._remove = remove
        self._whole = whole
        self._number = 0
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._lost = ""
        self._complaint = ""
        self._sending = asyncio.Lock()
        self._closing: asyncio.Task[None] | None = None
        self._hearing = asyncio.ensure_future(self._hear())
        self._complaining = asyncio.ensure_future(self._collect())

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        folder: Path,
        remove: Callable[[], Awaitable[object]],
        whole: Callable[[], bool],
    ) -> PipeLink:
        """Start the engine's program.

        Args:
            argv: Its command line.
            folder: Where it is started: podman leaves a file ``oom`` there when a container runs out of memory.
            remove: As in the constructor.
            whole: As in the constructor.
        """
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder, limit=LONGEST, start_new_session=True
        )
        return cls(process, remove, whole)

    async def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """See `warden.Link.ask`."""
        if self._lost or self._process.stdin is None:
            raise SandboxLost(self._lost)
        self._number += 1
        number = self._number
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        line = json.dumps({**request, "number": number}).encode() + b"\n"
        try:
            async with self._sending:
                self._process.stdin.write(line)
                await self._process.stdin.drain()
            told = await answer
        except ConnectionError as error:
            await self._hearing
            raise SandboxLost(self._lost) from error
        finally:
            self._asked.pop(number, None)
        if not self._whole():
            raise SandboxLost(HOLLOW, by_host=True)
        return told

    async def close(self) -> None:
        """See `warden.Link.close`."""
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._lose("the sandbox was closed")
        if self._process.stdin:
            self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), LEAVE_WAIT)
        except TimeoutError:
            await self._remove()
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        await asyncio.gather(self._hearing, self._complaining)

    async def _hear(self) -> None:
        """Hand each answer to whoever has asked for it, until there are no more."""
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: S101, PT018  # asked for
        try:
            while line := await self._process.stdout.readline():
                answer = json.loads(line)
                asked = self._asked.get(answer.pop("number"))
                if asked and not asked.done():
                    asked.set_result(answer)
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            self._lose(f"the sandbox gave an answer that can't be understood: {error}")
            self._process.stdin.close()
        await self._complaining
        self._lose(f"the sandbox has died: {self._complaint}" if self._complaint else "the sandbox has died")

    async def _collect(self) -> None:
        """Keep the end of what the engine complains about."""
        assert self._process.stderr is not None  # noqa: S101  # it was asked for
        while data := await self._process.stderr.read(TAIL):
            self._complaint = (self._complaint + data.decode("utf-8", "replace"))[-TAIL:].strip()

    def _lose(self, why: str) -> None:
        self._lost = self._lost or why
        for asked in self._asked.values():
            if not asked.done():
                asked.set_exception(SandboxLost(self._lost))
