"""Templates written to disk, and a root file system made of a few of this host's programs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

PROGRAMS = ("sh", "cat", "ls", "rm", "id", "mkdir")


def template(folder: Path, text: str = "", files: Mapping[str, str] | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sandbox.yaml").write_text(text or "base: host\n")
    for name, content in (files or {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def root_filesystem(folder: Path) -> Path:
    """Programs with the libraries that they need, a hard link, a relative link, and a file of its own."""
    (folder / "bin").mkdir(parents=True)
    (folder / "etc").mkdir()
    (folder / "etc/which").write_text("not the host\n")
    (folder / "etc/gone").write_text("to be deleted\n")
    for name in PROGRAMS:
        program = shutil.which(name)
        assert program
        shutil.copy(program, folder / "bin" / name)
        for word in subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.split():
            if word.startswith("/") and not (to := folder / word.lstrip("/")).exists():
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(word, to)
    (folder / "bin/list").symlink_to("ls")
    (folder / "bin/show").hardlink_to(folder / "bin/cat")
    return folder
