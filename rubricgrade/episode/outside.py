"""A task's own tools, in a sandbox of their own: what they keep (the world) lies where the agent has no hand on it."""

from __future__ import annotations

import asyncio
import base64
import json
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from rubricgrade import tree
from rubricgrade.episode.task import Task
from rubricgrade.episode.tools import Told, Tool
from rubricgrade.errors import CheckError
from rubricgrade.sandbox import Layer, Process, Provider, Sandbox, base_template

TOOLS = "/tools"
WORLD = "/world"
DAY = 24 * 3600.0
CALL_SECONDS = 120.0
LINE = 64 << 20
FILE = 32 << 20
MOST_CRASHES = 5


class OutsideTools:
    """The process of a task's tools. Restarted when a call ends it; the world stays as it is."""

    def __init__(self, sandbox: Sandbox, file: str, workspace: Sandbox) -> None:
        self._sandbox = sandbox
        self._file = file
        self._workspace = workspace
        self._process: Process | None = None
        self._crashes = 0
        self._turn = asyncio.Lock()
        self.tools: tuple[Tool, ...] = ()

    async def start(self) -> None:
        """Start the process and learn what tools there are.

        Raises:
            CheckError: The author's file does not load.
        """
        argv = ["python3", "-B", "-m", "rubricgrade.episode.inside.desk", self._file]
        process = await self._sandbox.start(argv, cwd=WORLD, timeout=DAY)
        self._process = process
        try:
            async with asyncio.timeout(CALL_SECONDS):
                heard = await process.receive(LINE)
        except (TimeoutError, ValueError):
            heard = b""
        if not heard:
            await process.kill()
            said = (await process.finish()).stderr.decode("utf-8", "replace").strip()[-1000:]
            raise CheckError(f"the task's tools do not start: {said or 'no answer'}")
        self.tools = tuple(Tool(**tool) for tool in json.loads(heard)["tools"])

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Told:
        """Call a tool, one at a time.

        A call that ends or hangs the process is the agent's own loss, as often as it likes up to a limit.

        Raises:
            CheckError: The process ends again and again.
        """
        async with self._turn:
            if self._process is None:
                await self.start()
            try:
                async with asyncio.timeout(CALL_SECONDS):
                    return await self._converse({"name": name, "arguments": dict(arguments)})
            except (TimeoutError, BrokenPipeError, ValueError) as error:
                await self.stop()
                self._crashes += 1
                if self._crashes > MOST_CRASHES:
                    raise CheckError(f"the task's tools ended {self._crashes} times in one episode") from error
                return Told(f"error: {name} crashed or took more than {CALL_SECONDS:g} s", failed=True)

    async def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            await self._process.kill()
            self._process = None

    async def keep(self, world: Path) -> None:
        """End the process and write what the tools have kept into a new folder."""
        await self.stop()
        with tempfile.TemporaryDirectory() as place:
            archive = Path(place) / "world.tar.zst"
            await self._sandbox.snapshot(archive)
            await asyncio.to_thread(tree.unpack, archive, world)

    async def _converse(self, request: Mapping[str, Any]) -> Told:
        process = cast("Process", self._process)
        await process.send(_line(request))
        while True:
            heard = await process.receive(LINE)
            if not heard:
                raise BrokenPipeError
            message = json.loads(heard)
            match message["op"]:
                case "read":
                    await process.send(_line(await self._read(message["path"])))
                case "write":
                    await process.send(_line(await self._write(message["path"], base64.b64decode(message["data"]))))
                case _:
                    return Told(message["text"], bool(message.get("failed")))

    async def _read(self, path: str) -> dict[str, str]:
        try:
            _check(path)
            return {"data": base64.b64encode(await self._workspace.read(path, limit=FILE)).decode()}
        except (OSError, ValueError) as error:
            return {"missing": f"{path} can't be read from the workspace: {error}"}

    async def _write(self, path: str, data: bytes) -> dict[str, str]:
        try:
            _check(path)
            await self._workspace.write(path, data)
        except (OSError, ValueError) as error:
            return {"missing": f"{path} can't be written to the workspace: {error}"}
        return {}


@asynccontextmanager
async def outside_tools(task: Task, provider: Provider, workspace: Sandbox) -> AsyncGenerator[OutsideTools | None]:
    """The task's own tools for one episode; None when it has none.

    Args:
        task: Whose tools they are.
        provider: Makes their sandbox.
        workspace: The agent's sandbox, whose files they may read and write.
    """
    if task.settings.outside is None:
        yield None
        return
    async with provider.stage(task.folder / "tools") as files:
        template = base_template(name=f"{task.id} tools", layers=(Layer(files, TOOLS),), workdir=WORLD, upper="disk")
        sandbox = await provider.open(template, label=f"tools of {task.id}")
        try:
            tools = OutsideTools(sandbox, f"{TOOLS}/{Path(task.settings.outside).name}", workspace)
            await tools.start()
            yield tools
        finally:
            await sandbox.close()


def _check(path: str) -> None:
    if "\0" in path:
        raise ValueError("a path has no NUL character")


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"
