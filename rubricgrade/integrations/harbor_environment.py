"""Harbor: its tasks in our bubblewrap sandbox, without a container engine.

    harbor run -p TASK -a AGENT -e rubricgrade.integrations.harbor_environment:BubblewrapEnvironment

Of a Dockerfile it follows what `rubricgrade run` does; the base image is this host's own programs.
"""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from rubricgrade.episode.environment import prepared
from rubricgrade.episode.task import Task
from rubricgrade.integrations.harbor_transfer import pack, read, unpack, write
from rubricgrade.integrations.hosts import host
from rubricgrade.sandbox import Layer, Sandbox, default_provider

base = host("harbor.environments.base", "harbor")
capable = host("harbor.environments.capabilities", "harbor")

PLACES = {"/logs": ("agent", "verifier", "artifacts"), "/tests": (), "/solution": ()}
"""Where Harbor and its agents write besides the work folder."""
MOST = 512 << 20
DAY = 24 * 3600


class BubblewrapEnvironment(base.BaseEnvironment):
    """One fork of the task's template. Every command runs as the same user, whichever Harbor asks for."""

    _held: AsyncExitStack | None = None
    _sandbox: Sandbox

    @staticmethod
    def type() -> str:
        """What Harbor calls it."""
        return "bubblewrap"

    @property
    def capabilities(self) -> Any:
        """No network but none; no mounts."""
        return capable.EnvironmentCapabilities(disable_internet=True)

    def _validate_definition(self) -> None:
        Task.load(self.environment_dir.parent)

    async def start(self, force_build: bool) -> None:  # noqa: ARG002 - Harbor's signature
        """Prepare the template and open a fork of it."""
        held = self._held = AsyncExitStack()
        provider = default_provider()
        template = await held.enter_async_context(prepared(Task.load(self.environment_dir.parent), provider))
        layers = list(template.layers)
        with tempfile.TemporaryDirectory() as folder:
            for target, names in PLACES.items():
                place = Path(folder) / target.strip("/")
                for name in ("", *names):
                    (place / name).mkdir(parents=True, exist_ok=True)
                layers.append(Layer(await held.enter_async_context(provider.stage(place)), target, "overlay"))
        template = replace(template, layers=tuple(layers), upper="disk")
        self._sandbox = await provider.open(template, label=f"harbor {self.session_id}")
        held.push_async_callback(self._sandbox.close)

    async def stop(self, delete: bool) -> None:  # noqa: ARG002 - Harbor's signature
        """End it; nothing stays."""
        if self._held is not None:
            await self._held.aclose()

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,  # noqa: ARG002 - one user is all there is
    ) -> Any:
        """Run a command by bash. A timeout is an exit code, as it is from ``timeout``."""
        done = await self._sandbox.exec(
            ["bash", "-c", command], cwd=cwd, env=self._merge_env(env), timeout=timeout_sec or DAY
        )
        return base.ExecResult(
            stdout=done.stdout.decode("utf-8", "replace"),
            stderr=done.stderr.decode("utf-8", "replace") + done.error,
            return_code=124 if done.timed_out else done.code,
        )

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy a file in."""
        data, mode = await asyncio.to_thread(read, Path(source_path))
        await self._sandbox.write(target_path, data, mode=mode)

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy the content of a folder in."""
        packed = await asyncio.to_thread(pack, Path(source_dir))
        await self._tar("-C", target_dir, "--no-same-owner", "-xf", "-", stdin=packed, make=target_dir)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a file out."""
        await asyncio.to_thread(write, Path(target_path), await self._sandbox.read(source_path, limit=MOST), 0o644)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy the content of a folder out, without its links."""
        await asyncio.to_thread(unpack, await self._tar("-C", source_dir, "-cf", "-", "."), Path(target_dir))

    async def _tar(self, *arguments: str, stdin: bytes = b"", make: str | None = None) -> bytes:
        if make is not None:
            await self._sandbox.exec(["mkdir", "-p", make])
        done = await self._sandbox.exec(["tar", *arguments], stdin=stdin, limit=MOST)
        # 1 says that a file changed while it was read: it is taken as it was.
        if done.code not in {0, 1} or len(done.stdout) < done.stdout_total:
            raise OSError(done.stderr.decode("utf-8", "replace")[:500] or done.error or "too large")
        return done.stdout
