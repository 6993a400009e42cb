"""README's commands and code, run as they stand, in a copy of what a reader has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.program import environment

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS: list[tuple[str, str]] = re.findall(r"^```(\w*)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
SHELL = [body for language, body in BLOCKS if language in {"sh", "bash", "shell", "console"}]
PYTHON = [body for language, body in BLOCKS if language == "python"]
LINKS = sorted(set(re.findall(r"\]\((?!https?:|#)([^)#]+)", README)))


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that README speaks of, and an environment that is active already."""
    folder = tmp_path_factory.mktemp("readme")
    for name in ("examples", "rubrics"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True)
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / ".venv" / "bin" / "activate").touch()
    (folder / "tmp").mkdir()
    return folder


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment(PATH=path),
        stdin=subprocess.DEVNULL,
        check=False,
    )


def test_there_is_something_to_run() -> None:
    text = "".join(SHELL)
    for command in ("make demo", "make test", "rubricgrade grade ", "rubricgrade show "):
        assert f"\n{command}" in f"\n{text}"
    assert PYTHON


@pytest.mark.parametrize("script", SHELL)
def test_commands_do_what_they_say(script: str, copy: Path) -> None:
    """All are run, but a make target, inside of which this may be, only has to exist."""
    script = re.sub(r"^make ", "make --dry-run ", script, flags=re.MULTILINE)
    done = run(["bash", "-euo", "pipefail", "-c", script.replace("/tmp/", f"{copy}/tmp/")], copy)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("script", PYTHON)
def test_python_code_runs(script: str, copy: Path) -> None:
    done = run([sys.executable, "-W", "error", "-c", script], copy)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("link", LINKS)
def test_what_it_links_to_is_there(link: str) -> None:
    assert (ROOT / link).exists()
