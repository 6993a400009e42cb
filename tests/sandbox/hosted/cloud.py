"""A local stand-in for four vendors' services, at the address that each SDK itself calls.

A machine is a real sandbox with limits far above those of the templates under test, and commands really run on it.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import struct
from typing import Any

from aiohttp import web

from rubricgrade.errors import SandboxLost
from rubricgrade.sandbox.bubblewrap import BubblewrapProvider
from rubricgrade.sandbox.contract import Done, Limits, MiB, Sandbox, Template

NOW = "2030-01-01T00:00:00Z"
MACHINE = Template(name="machine", limits=Limits(memory=4096 * MiB, processes=1024, disk=512 * MiB))


class Cloud:
    """The machines, and what was said when each was made."""

    def __init__(self) -> None:
        self.machines: dict[str, Sandbox] = {}
        self.asked: dict[str, dict[str, Any]] = {}
        self.base = ""
        self.broken = False
        self._numbers = itertools.count(1)
        self._provider = BubblewrapProvider()

    async def make(self, asked: dict[str, Any]) -> str:
        identity = f"m{next(self._numbers)}"
        self.machines[identity] = await self._provider.open(MACHINE, label="vendor")
        self.asked[identity] = asked
        return identity

    async def run(self, identity: str, command: str) -> Done:
        if self.broken or identity not in self.machines:
            raise web.HTTPInternalServerError(text="out of order")
        try:
            return await self.machines[identity].exec(["sh", "-c", command], timeout=300, limit=16 * MiB)
        except SandboxLost as error:
            raise web.HTTPGone(text=str(error)) from error

    async def end(self, identity: str) -> None:
        if machine := self.machines.pop(identity, None):
            await machine.close()

    async def close(self) -> None:
        for identity in tuple(self.machines):
            await self.end(identity)

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64 * MiB)
        E2B(self).route(app)
        Daytona(self).route(app)
        Archil(self).route(app)
        Superserve(self).route(app)
        return app


class E2B:
    """The control plane, and the Connect protocol with JSON for commands."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud

    def route(self, app: web.Application) -> None:
        app.router.add_post("/e2b/v2/sandboxes", self.create)
        app.router.add_get("/e2b/v2/sandboxes", self.listed)
        app.router.add_delete("/e2b/sandboxes/{id}", self.delete)
        app.router.add_post("/e2b-machine/process.Process/Start", self.start)

    async def create(self, request: web.Request) -> web.Response:
        identity = await self.cloud.make(await request.json())
        about = {"sandboxID": identity, "templateID": "base", "clientID": "c", "envdVersion": "0.5.0"}
        return web.json_response(about | {"envdAccessToken": "token"}, status=201)

    async def listed(self, _: web.Request) -> web.Response:
        common = {"templateID": "base", "clientID": "c", "startedAt": NOW, "endAt": NOW, "cpuCount": 1, "memoryMB": 1}
        common |= {"diskSizeMB": 1, "state": "running", "envdVersion": "0.5.0"}
        return web.json_response(
            [
                common | {"sandboxID": each, "metadata": self.cloud.asked[each]["metadata"]}
                for each in self.cloud.machines
            ]
        )

    async def delete(self, request: web.Request) -> web.Response:
        await self.cloud.end(request.match_info["id"])
        return web.Response(status=204)

    async def start(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        assert request.content_type == "application/connect+json"
        process = json.loads(body[5:])["process"]
        assert process["cmd"] == "/bin/bash"
        assert request.headers["Authorization"].startswith("Basic ")
        answer = web.StreamResponse(headers={"Content-Type": "application/connect+json"})
        await answer.prepare(request)

        async def event(**fields: Any) -> None:
            await answer.write(envelope(0, {"event": fields}))

        await event(start={"pid": 7})
        done = await self.cloud.run(request.headers["E2b-Sandbox-Id"], process["args"][-1])
        if done.stdout:
            await event(data={"stdout": base64.b64encode(done.stdout).decode()})
        if done.stderr:
            await event(data={"stderr": base64.b64encode(done.stderr).decode()})
        await event(end={"exitCode": done.code, "exited": True, "status": f"exit status {done.code}"})
        await answer.write(envelope(2, {}))
        return answer


def envelope(flags: int, message: dict[str, Any]) -> bytes:
    data = json.dumps(message).encode()
    return struct.pack(">BI", flags, len(data)) + data


class Daytona:
    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud

    def route(self, app: web.Application) -> None:
        app.router.add_post("/daytona/sandbox", self.create)
        app.router.add_get("/daytona/sandbox", self.listed)
        app.router.add_get("/daytona/sandbox/{id}", self.one)
        app.router.add_delete("/daytona/sandbox/{id}", self.delete)
        app.router.add_post("/toolbox/{id}/process/execute", self.execute)

    def about(self, identity: str, state: str = "started") -> dict[str, Any]:
        asked = self.cloud.asked[identity]
        return {
            "id": identity, "organizationId": "o", "name": identity, "user": "daytona", "env": {}, "target": "local",
            "labels": asked["labels"], "public": False, "networkBlockAll": asked["networkBlockAll"], "kvm": False,
            "cpu": 1, "gpu": 0, "memory": 1, "disk": 1, "state": state, "toolboxProxyUrl": f"{self.cloud.base}/toolbox",
            "createdAt": NOW, "updatedAt": NOW, "lastActivityAt": NOW, "sandboxClass": "container",
        }  # fmt: skip

    async def create(self, request: web.Request) -> web.Response:
        return web.json_response(self.about(await self.cloud.make(await request.json())))

    async def listed(self, _: web.Request) -> web.Response:
        return web.json_response({"items": [self.about(each) for each in self.cloud.machines], "nextCursor": None})

    async def one(self, request: web.Request) -> web.Response:
        if request.match_info["id"] not in self.cloud.machines:
            raise web.HTTPNotFound
        return web.json_response(self.about(request.match_info["id"]))

    async def delete(self, request: web.Request) -> web.Response:
        await self.cloud.end(request.match_info["id"])
        return web.json_response(self.about(request.match_info["id"], "destroyed"))

    async def execute(self, request: web.Request) -> web.Response:
        done = await self.cloud.run(request.match_info["id"], (await request.json())["command"])
        return web.json_response({"exitCode": done.code, "result": (done.stdout + done.stderr).decode()})


class Archil:
    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud

    def route(self, app: web.Application) -> None:
        app.router.add_post("/archil/api/sandboxes", self.create)
        app.router.add_get("/archil/api/sandboxes", self.listed)
        app.router.add_get("/archil/api/sandboxes/{id}", self.one)
        app.router.add_delete("/archil/api/sandboxes/{id}", self.delete)
        app.router.add_post("/archil/api/sandboxes/{id}/connections", self.connection)
        app.router.add_get("/archil-machine/{id}", self.converse)

    def said(self, data: Any) -> web.Response:
        return web.json_response({"success": True, "data": data})

    def about(self, identity: str) -> dict[str, Any]:
        asked = self.cloud.asked[identity]
        return {
            "sandbox_id": identity, "name": asked["name"], "status": "running", "vcpu_count": 1,
            "mem_size_mib": asked["mem_size_mib"], "max_ttl_seconds": asked["max_ttl_seconds"], "base_image": "b",
            "max_concurrent_execs": asked["max_concurrent_execs"], "created_at": NOW, "last_active_at": NOW,
        }  # fmt: skip

    async def create(self, request: web.Request) -> web.Response:
        return self.said(self.about(await self.cloud.make(await request.json())))

    async def listed(self, _: web.Request) -> web.Response:
        return self.said({"sandboxes": [self.about(each) for each in self.cloud.machines]})

    async def one(self, request: web.Request) -> web.Response:
        return self.said(self.about(request.match_info["id"]))

    async def delete(self, request: web.Request) -> web.Response:
        await self.cloud.end(request.match_info["id"])
        return self.said(None)

    async def connection(self, request: web.Request) -> web.Response:
        return self.said({"url": f"{self.cloud.base.replace('http', 'ws')}/archil-machine/{request.match_info['id']}"})

    async def converse(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        asked = await socket.receive_json()
        assert asked["type"] == "start"
        await socket.send_json({"type": "started", "process_id": "p"})
        with contextlib.suppress(web.HTTPException):
            done = await self.cloud.run(request.match_info["id"], asked["command"])
            cursor = 0
            for stream, data in ((1, done.stdout), (2, done.stderr)):
                for start in range(0, len(data), MiB // 2):
                    piece = data[start : start + MiB // 2]
                    await socket.send_bytes(bytes([stream]) + cursor.to_bytes(8, "big") + piece)
                    cursor += len(piece)
            status = "completed" if done.code == 0 else "failed"
            await socket.send_json({"type": "exit", "status": status, "exit_code": done.code, "cursor": cursor})
        await socket.close()
        return socket


class Superserve:
    """The control plane under /superserve; the machines at the root, under a host name of their own."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud

    def route(self, app: web.Application) -> None:
        app.router.add_post("/superserve/sandboxes", self.create)
        app.router.add_get("/superserve/sandboxes", self.listed)
        app.router.add_delete("/superserve/sandboxes/{id}", self.delete)
        app.router.add_post("/exec", self.execute)

    def about(self, identity: str) -> dict[str, Any]:
        asked = self.cloud.asked[identity]
        return {
            "id": identity,
            "name": asked["name"],
            "status": "active",
            "created_at": NOW,
            "metadata": asked["metadata"],
        }

    async def create(self, request: web.Request) -> web.Response:
        return web.json_response(self.about(await self.cloud.make(await request.json())) | {"access_token": "t"})

    async def listed(self, _: web.Request) -> web.Response:
        return web.json_response([self.about(each) for each in self.cloud.machines])

    async def delete(self, request: web.Request) -> web.Response:
        await self.cloud.end(request.match_info["id"])
        return web.Response(status=204)

    async def execute(self, request: web.Request) -> web.Response:
        assert request.headers["X-Access-Token"] == "t"
        done = await self.cloud.run(request.headers["X-Superserve-Sandbox-Id"], (await request.json())["command"])
        return web.json_response(
            {"stdout": done.stdout.decode(), "stderr": done.stderr.decode(), "exit_code": done.code}
        )


async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
    """Serve one connection of an HTTP proxy whose every tunnel ends at a port of this machine."""
    request = await reader.readuntil(b"\r\n\r\n")
    assert request.startswith(b"CONNECT ")
    far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(1 << 16):
                sink.write(data)
                await sink.drain()
        sink.close()

    await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))
    for sink in (writer, far_writer):
        with contextlib.suppress(ConnectionError):
            await sink.wait_closed()
