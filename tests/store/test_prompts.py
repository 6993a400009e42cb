from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricgrade import digest
from rubricgrade.errors import StoreError
from rubricgrade.store.verdicts import Kept, VerdictCache


def prompt(*texts: str) -> dict[str, str]:
    return {digest.of_bytes(text.encode()): text for text in texts}


@settings(deadline=None, max_examples=30)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=4, unique=True))
def test_what_is_kept_is_found_word_for_word(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    cache = VerdictCache(tmp_path_factory.mktemp("store") / "verdicts.sqlite")
    cache.keep(Kept(prompts={"sha256:1": prompt(*texts)}))
    assert cache.prompt("sha256:1") == tuple(texts)
    assert cache.prompt("sha256:2") is None


def test_a_text_that_prompts_share_is_kept_once_and_small(tmp_path: Path) -> None:
    cache, record = VerdictCache(tmp_path / "verdicts.sqlite"), "the same long record " * 10_000
    cache.keep(Kept(prompts={f"sha256:{number}": prompt(record, f"question {number}") for number in range(5)}))
    cache.keep(Kept(prompts={f"sha256:{number}": prompt(record, f"question {number}") for number in range(4, 10)}))
    assert cache.prompt("sha256:7") == (record, "question 7")
    cache.close()
    assert cache.path.stat().st_size < len(record) / 2


@pytest.mark.parametrize(
    "change", ["UPDATE texts SET packed = x'00'", "DELETE FROM texts", "UPDATE prompts SET texts = '{'"]
)
def test_damage_is_a_store_error(change: str, tmp_path: Path) -> None:
    cache = VerdictCache(tmp_path / "verdicts.sqlite")
    cache.keep(Kept(prompts={"sha256:1": prompt("text")}))
    database = sqlite3.connect(cache.path)
    with database:
        database.execute(change)
    database.close()
    with pytest.raises(StoreError, match="sha256:1"):
        cache.prompt("sha256:1")


def test_a_changed_text_is_noticed(tmp_path: Path) -> None:
    cache = VerdictCache(tmp_path / "verdicts.sqlite")
    cache.keep(Kept(prompts={"sha256:1": {digest.of_bytes(b"the text"): "another text"}}))
    with pytest.raises(StoreError, match="changed"):
        cache.prompt("sha256:1")


def test_replies_on_the_way_to_a_verdict(tmp_path: Path) -> None:
    cache = VerdictCache(tmp_path / "verdicts.sqlite")
    assert cache.reply("k") is None
    cache.keep_reply("k", "first")
    cache.keep_reply("k", "second")
    assert VerdictCache(cache.path).reply("k") == "first"
    assert cache.info().entries == 0
    cache.clear()
    assert cache.reply("k") is None


def test_what_another_process_cleared_is_written_again(tmp_path: Path) -> None:
    cache, other = VerdictCache(tmp_path / "verdicts.sqlite"), VerdictCache(tmp_path / "verdicts.sqlite")
    cache.keep(Kept(prompts={"sha256:1": prompt("a record", "question 1")}))
    other.clear()
    cache.keep(Kept(prompts={"sha256:2": prompt("a record", "question 2")}))
    assert cache.prompt("sha256:2") == ("a record", "question 2")
