from __future__ import annotations

from pathlib import Path

import pytest

from rubricgrade.store.recorded import Verdict
from rubricgrade.store.verdicts import Kept, VerdictCache
from tests.cli.program import run


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    path = tmp_path / "cache.sqlite"
    filled = VerdictCache(path)
    for vote, model in enumerate(("big", "small", "small")):
        filled.put(Verdict(question=f"q{vote}", key=f"k{vote}", answer="yes", recorded_by=model, vote=vote))
    filled.close()
    return path


def test_info(cache: Path) -> None:
    done = run("cache", "info", "--cache", cache)
    assert done.code == 0
    assert f"{cache}: 3 verdicts" in done.out
    assert "  small: 2" in done.out
    document = run("cache", "info", "--cache", cache, "--json").json
    assert (document["schema"], document["entries"], document["models"]) == (
        "rubricgrade.cache/1",
        3,
        {"big": 1, "small": 2},
    )


def test_what_is_exported_can_be_imported(cache: Path, tmp_path: Path) -> None:
    file, other = tmp_path / "verdicts.jsonl", tmp_path / "other.sqlite"
    assert run("cache", "export", file, "--cache", cache).code == 0
    assert len(file.read_text().splitlines()) == 3
    assert "3 verdicts taken" in run("cache", "import", file, "--cache", other).out
    ours, theirs = VerdictCache(cache).get("k1"), VerdictCache(other).get("k1")
    assert ours is not None
    assert theirs == ours.model_copy(update={"imported": "verdicts.jsonl"})
    VerdictCache(other).keep(Kept(prompts={"sha256:1": {"sha256:2": "text"}}))
    assert "3 verdicts forgotten" in run("cache", "clear", "--cache", other).out
    assert VerdictCache(other).info().entries == 0
    assert VerdictCache(other).prompt("sha256:1") is None


def test_what_is_no_cache_or_no_verdict_is_told(tmp_path: Path) -> None:
    missing = run("cache", "info", "--cache", tmp_path / "typo.sqlite")
    assert missing.code == 2
    assert not (tmp_path / "typo.sqlite").exists()
    notes = tmp_path / "notes.txt"
    notes.write_text("no verdict\n" * 100)
    broken = run("cache", "info", "--cache", notes)
    assert broken.code == 3
    assert str(notes) in broken.err
    wrong = run("cache", "import", notes, "--cache", tmp_path / "c.sqlite")
    assert wrong.code == 2
    assert f"{notes}:1: " in wrong.err
