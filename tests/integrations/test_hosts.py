"""The adapters on real trainers and engines: `make test-hosts`. Each has an environment below .venv/hosts, kept for reuse.

A host that runs on this kind of machine is never skipped: only a missing Python is a reason.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.integrations.hosts import ENVIRONMENTS, HOSTS, ROOT

FOLDER = ROOT / ".venv" / "hosts"
ENV = {**os.environ, "HF_HUB_OFFLINE": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONDONTWRITEBYTECODE": "1"}

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(900)]


def interpreter(minor: int) -> str | None:
    """A Python 3 of this minor version that starts."""
    version = f"3.{minor}"
    places = [shutil.which(f"python{version}"), *map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))]
    for place in filter(None, places):
        said = subprocess.run(
            [place, "-c", "import ensurepip, sys; print(sys.version_info[1])"],
            capture_output=True,
            text=True,
            check=False,
        )
        if said.stdout.strip() == str(minor):
            return place
    return None


def environment(name: str) -> Path:
    """The Python of an environment, made or reused."""
    needed = ENVIRONMENTS[name]
    found = interpreter(needed.python)
    if found is None:
        pytest.skip(f"needs Python 3.{needed.python}, which is not here")
    folder = FOLDER / name
    python, stamp = folder / "bin" / "python", folder / "installed"
    wanted = hashlib.sha256(repr((found, needed.installs)).encode()).hexdigest()
    if not stamp.is_file() or stamp.read_text() != wanted:
        subprocess.run([found, "-m", "venv", "--clear", str(folder)], check=True)
        for packages in (("pip>=25.1",), *needed.installs):
            command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr[-3000:]
        stamp.write_text(wanted)
    return python


@pytest.mark.parametrize("name", HOSTS)
def test_examples_on_the_real_host(name: str) -> None:
    host = HOSTS[name]
    python = environment(host.environment)
    for command, expected in host.scripts.items():
        script, *arguments = command.split()
        argv = [str(python), str(ROOT / "examples" / "hosts" / script), *arguments]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, env=ENV, cwd=python.parent)
        assert done.returncode == 0, done.stderr[-3000:]
        said = json.loads(done.stdout.strip().splitlines()[-1])
        assert {key: said[key] for key in expected} == expected
        for step in said.get("steps", []):
            # Half of the episodes had no score; a mean of the others, and a loss, are numbers all the same.
            assert step["rubricgrade/graded"] == 0.5
            assert step["reward"] == step["rewards/rubricgrade/mean"]
            assert 0 <= step["reward"] <= 1
            assert abs(step["loss"]) < 1


# Harbor is no reward function: its example is the whole test.
@pytest.mark.parametrize("name", [name for name, host in HOSTS.items() if host.plugs])
def test_conformance_on_the_real_host(name: str) -> None:
    host = HOSTS[name]
    python = environment(host.environment)
    wanted = " or ".join(f"{plug}]" for plug in host.plugs)
    # Warnings of the host are not ours to raise.
    argv = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "filterwarnings=default", "-k", wanted]
    done = subprocess.run(
        [*argv, "tests/integrations/test_conformance.py"],
        capture_output=True,
        text=True,
        check=False,
        env=ENV,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-1000:]
    assert " passed" in done.stdout
