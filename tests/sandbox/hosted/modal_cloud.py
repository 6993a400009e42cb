"""A local stand-in for modal's scheduler and for the worker of a machine, in the gRPC that its SDK itself speaks.

Only the calls that a sandbox takes are there; any other is answered as one that the service does not know.
"""

from __future__ import annotations

import asyncio
import base64
import importlib
import json
import socket
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from rubricgrade.sandbox.contract import Done
from tests.sandbox.hosted.cloud import Cloud

Answer = Callable[[Any], Awaitable[Any]]
BUILT = 1
"""The status of an image that is there already."""


def pass_token() -> str:
    """A token in the form whose time of expiry the SDK reads."""
    claims = base64.urlsafe_b64encode(json.dumps({"exp": time.time() + 3600}).encode()).rstrip(b"=").decode()
    return f"e30.{claims}.x"


@dataclass
class Command:
    """One command on a machine: what is to be run comes as its input."""

    identity: str
    seconds: int
    text: bytes = b""
    done: asyncio.Future[Done] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Modal:
    """Both ends that the SDK calls, on one port."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud
        self.url = ""
        self.commands: dict[str, Command] = {}
        self.running: set[asyncio.Task[None]] = set()
        self.api: Any = importlib.import_module("modal_proto.api_pb2")
        self.router: Any = importlib.import_module("modal_proto.task_command_router_pb2")
        self.wire: Any = importlib.import_module("grpclib.const")
        self.fault: Any = importlib.import_module("grpclib.exceptions").GRPCError
        self.server: Any = None

    async def start(self) -> None:
        """Listen on a free port."""
        self.server = importlib.import_module("grpclib.server").Server([self])
        listener = socket.create_server(("127.0.0.1", 0))
        await self.server.start(sock=listener)
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"

    async def stop(self) -> None:
        """Hang up, the SDK first: it keeps one client for the whole process."""
        client = await importlib.import_module("modal").Client.from_env.aio()
        await client.close.aio()
        self.server.close()
        await self.server.wait_closed()

    def __mapping__(self) -> dict[str, Any]:
        scheduler = {
            "AppGetOrCreate": self.app, "AuthTokenGet": self.token, "EnvironmentGetOrCreate": self.environment,
            "ImageGetOrCreate": self.image, "SandboxCreateV2": self.create, "SandboxListV2": self.listed,
            "SandboxGetCommandRouterAccess": self.route, "SandboxTagsGetV2": self.tags,
            "SandboxTerminateV2": self.terminate, "SandboxWaitV2": self.wait,
        }  # fmt: skip
        worker = {"TaskExecStart": self.begin, "TaskExecStdinWrite": self.feed, "TaskExecWait": self.ending}
        unary, streams = self.wire.Cardinality.UNARY_UNARY, self.wire.Cardinality.UNARY_STREAM
        found = {
            f"/modal.client.ModalClient/{name}": self.wire.Handler(
                self.answered(handler), unary, *messages(self.api, name)
            )
            for name, handler in scheduler.items()
        }
        router = "/modal.task_command_router.TaskCommandRouter"
        for name, handler in worker.items():
            found[f"{router}/{name}"] = self.wire.Handler(self.answered(handler), unary, *messages(self.router, name))
        name = "TaskExecStdioRead"
        found[f"{router}/{name}"] = self.wire.Handler(self.output, streams, *messages(self.router, name))
        return found

    def answered(self, handler: Answer) -> Any:
        async def serve(stream: Any) -> None:
            try:
                await stream.send_message(await handler(await stream.recv_message()))
            except web.HTTPException as error:
                raise self.fault(self.wire.Status.FAILED_PRECONDITION, error.text) from error

        return serve

    # --- The scheduler ----------------------------------------------------------------------------------------------

    async def token(self, _: Any) -> Any:
        return self.api.AuthTokenGetResponse(token=pass_token())

    async def environment(self, _: Any) -> Any:
        settings = self.api.EnvironmentSettings(image_builder_version="2025.06")
        about = self.api.EnvironmentMetadata(name="main", settings=settings)
        return self.api.EnvironmentGetOrCreateResponse(environment_id="en-1", metadata=about)

    async def app(self, _: Any) -> Any:
        return self.api.AppGetOrCreateResponse(app_id="ap-1")

    async def image(self, _: Any) -> Any:
        return self.api.ImageGetOrCreateResponse(image_id="im-1", result=self.api.GenericResult(status=BUILT))

    async def create(self, request: Any) -> Any:
        definition = request.definition
        asked = {
            "tags": {tag.tag_name: tag.tag_value for tag in request.tags},
            "timeout": definition.timeout_secs,
            "network": definition.network_access.network_access_type,
            "blocked": self.api.NetworkAccess.NetworkAccessType.Value("BLOCKED"),
        }
        identity = await self.cloud.make(asked)
        return self.api.SandboxCreateV2Response(
            sandbox_id=f"sb-{identity}", task_id=f"ta-{identity}", command_router_access=self.access()
        )

    def access(self) -> Any:
        return self.api.CommandRouterAccess(url=self.url, jwt=pass_token())

    async def route(self, _: Any) -> Any:
        return self.api.SandboxGetCommandRouterAccessResponse(url=self.url, jwt=pass_token())

    async def listed(self, request: Any) -> Any:
        assert request.app_id == "ap-1"
        if request.before_timestamp:
            return self.api.SandboxListResponse()
        infos = [self.api.SandboxInfo(id=f"sb-{each}", created_at=1.0) for each in self.cloud.machines]
        return self.api.SandboxListResponse(sandboxes=infos)

    async def tags(self, request: Any) -> Any:
        tags = self.cloud.asked[request.sandbox_id.removeprefix("sb-")]["tags"]
        pairs = [self.api.SandboxTag(tag_name=name, tag_value=value) for name, value in tags.items()]
        return self.api.SandboxTagsGetResponse(tags=pairs)

    async def wait(self, _: Any) -> Any:
        return self.api.SandboxWaitResponse()

    async def terminate(self, request: Any) -> Any:
        await self.cloud.end(request.sandbox_id.removeprefix("sb-"))
        return self.api.SandboxTerminateResponse()

    # --- The worker -------------------------------------------------------------------------------------------------

    async def begin(self, request: Any) -> Any:
        assert list(request.command_args) == ["sh", "-c", 'eval "$(cat)"']
        if self.cloud.broken:
            raise web.HTTPInternalServerError(text="out of order")
        self.commands[request.exec_id] = Command(request.task_id.removeprefix("ta-"), request.timeout_secs)
        return self.router.TaskExecStartResponse()

    async def feed(self, request: Any) -> Any:
        command = self.commands[request.exec_id]
        assert request.offset == len(command.text)
        command.text += request.data
        if request.eof:
            task = asyncio.ensure_future(self.run(command))
            self.running.add(task)
            task.add_done_callback(self.running.discard)
        return self.router.TaskExecStdinWriteResponse()

    async def run(self, command: Command) -> None:
        try:
            command.done.set_result(await self.cloud.run(command.identity, command.text.decode()))
        except web.HTTPException as error:
            command.done.set_exception(error)

    async def output(self, stream: Any) -> None:
        request = await stream.recv_message()
        try:
            done = await self.commands[request.exec_id].done
        except web.HTTPException as error:
            raise self.fault(self.wire.Status.FAILED_PRECONDITION, error.text) from error
        stdout = request.file_descriptor == self.router.TASK_EXEC_STDIO_FILE_DESCRIPTOR_STDOUT
        data = (done.stdout if stdout else done.stderr)[request.offset :]
        for start in range(0, len(data), 1 << 16):
            await stream.send_message(self.router.TaskExecStdioReadResponse(data=data[start : start + (1 << 16)]))

    async def ending(self, request: Any) -> Any:
        return self.router.TaskExecWaitResponse(code=(await self.commands.pop(request.exec_id).done).code)


def messages(module: Any, name: str) -> tuple[Any, Any]:
    """The types of a call's question and answer; some calls of the second version share those of the first."""
    of = name if hasattr(module, f"{name}Request") else name.removesuffix("V2")
    return getattr(module, f"{of}Request"), getattr(module, f"{of}Response")
