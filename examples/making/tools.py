"""Tools that a scripted agent can call: a shell in its workspace, and the office (Drive, Slack, mail) outside of it."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from making.workbook import PLAIN, settle
from rubricgrade.episode.inside.desk import Desk, ToolFault

# The tools are those of the task, which brings them along.
sys.path.append(str(Path(__file__).resolve().parent.parent / "tasks" / "travel-mis" / "tools"))
import office

Tool = Callable[..., str]
OFFICE: Final = (
    office.list_drive,
    office.read_file,
    office.download_file,
    office.search_slack,
    office.search_mail,
    office.export_pdf,
    office.send_mail,
)


class Shell:
    """``bash`` in the workspace, as in an agent's sandbox: exit code, then output."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace

    def tools(self) -> Mapping[str, Tool]:
        """Tools by name."""
        return {"bash": self.bash}

    def bash(self, command: str) -> str:
        """Run a command and settle the workbooks that it wrote, so that its bytes don't depend on the time."""
        path = f"{Path(sys.executable).parent}{os.pathsep}/usr/bin:/bin"
        env = {"PATH": path, "PYTHONDONTWRITEBYTECODE": "1", **PLAIN}
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.workspace,
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        for book in self.workspace.glob("**/*.xlsx"):
            settle(book)
        return f"exit {done.returncode}\n{done.stdout}{done.stderr}".replace(str(self.workspace), "/work")


class FolderDesk(Desk):
    """A desk whose work folder is a folder here, and whose world is another."""

    def __init__(self, files: Path, workspace: Path, world: Path) -> None:
        self.files = files
        self.world = world
        self._workspace = workspace

    def read(self, path: str) -> bytes:
        """A file of the workspace."""
        file = self._workspace / path
        if not file.is_file():
            raise ToolFault(f"no file {path!r}")
        return file.read_bytes()

    def write(self, path: str, data: bytes) -> None:
        """Put a file into the workspace."""
        (self._workspace / path).write_bytes(data)

    def tools(self) -> Mapping[str, Tool]:
        """The office's tools by name."""
        return {tool.__name__: functools.partial(tool, self) for tool in OFFICE}
