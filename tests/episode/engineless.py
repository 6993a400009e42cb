"""A container for Harbor without a container engine: its image has Python and this package, as an exported task asks.

Nothing of our own confines it, so that sandboxes can nest in it. `harbor run` imports it in an environment of its own.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any

from harbor.environments import base, capabilities  # pyright: ignore[reportMissingImports]

import rubricgrade
from rubricgrade.episode.recipe import read_recipe
from rubricgrade.sandbox.launch import bwrap

ENVIRONMENT = "/opt/environment"
PACKAGE = "/opt/package"
PROGRAM = f"""#!/bin/sh
PYTHONPATH={PACKAGE} exec {ENVIRONMENT}/bin/python3 -c 'from rubricgrade.cli import main; main()' "$@"
"""
SHOWN = ("/usr", "/etc", sys.base_prefix)


class Engineless(base.BaseEnvironment):  # pyright: ignore[reportUntypedBaseClass]
    """One container: a folder of this host for each place that something may write to."""

    root: Path

    @staticmethod
    def type() -> str:
        return "engineless"

    @property
    def capabilities(self) -> Any:
        return capabilities.EnvironmentCapabilities(disable_internet=True)

    def _validate_definition(self) -> None:
        read_recipe(self.environment_dir)

    async def start(self, force_build: bool) -> None:
        self.root = Path(tempfile.mkdtemp())
        recipe = read_recipe(self.environment_dir)
        self.workdir = recipe.workdir
        for place in (
            self.workdir,
            "/tests",
            "/solution",
            "/logs/agent",
            "/logs/verifier",
            "/logs/artifacts",
            "/opt/bin",
        ):
            self._outside(place).mkdir(parents=True)
        for copy in recipe.copies:
            for source in copy.sources:
                await self.upload_dir(self.environment_dir / source, copy.target)
        program = self._outside("/opt/bin/rubricgrade")
        program.write_text(PROGRAM)
        program.chmod(0o755)

    async def stop(self, delete: bool) -> None:
        shutil.rmtree(self.root)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> Any:
        argv = [bwrap(), "--unshare-net", "--die-with-parent", "--tmpfs", "/"]
        for path in dict.fromkeys(SHOWN):
            argv += ["--ro-bind", path, path]
        for name in ("bin", "sbin", "lib", "lib64"):
            argv += ["--symlink", f"usr/{name}", f"/{name}"]
        argv += ["--ro-bind", sys.prefix, ENVIRONMENT]
        argv += ["--ro-bind", str(Path(rubricgrade.__file__).parent), f"{PACKAGE}/rubricgrade"]
        for place in (self.workdir, "/tests", "/solution", "/logs", "/opt/bin"):
            argv += ["--bind", str(self._outside(place)), place]
        argv += [
            "--bind",
            "/proc",
            "/proc",
            "--dev",
            "/dev",
            "--tmpfs",
            "/tmp",
            "--chdir",
            cwd or self.workdir,
            "--clearenv",
        ]
        given = {"PATH": f"/opt/bin:{os.defpath}", "HOME": "/tmp", **(self._merge_env(env) or {})}
        for name, value in given.items():
            argv += ["--setenv", name, value]
        running = await asyncio.create_subprocess_exec(
            *argv, "bash", "-c", command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        out, err = await asyncio.wait_for(running.communicate(), timeout_sec)
        return base.ExecResult(stdout=out.decode(), stderr=err.decode(), return_code=running.returncode)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        self._outside(target_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, self._outside(target_path))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        shutil.copytree(source_dir, self._outside(target_dir), dirs_exist_ok=True)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        shutil.copy(self._outside(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        shutil.copytree(self._outside(source_dir), target_dir, dirs_exist_ok=True)

    def _outside(self, path: str) -> Path:
        return self.root / str(PurePosixPath(path)).lstrip("/")
