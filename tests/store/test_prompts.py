from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricgrade.errors import StoreError
from rubricgrade.store.prompts import Prompts


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=4))
def test_what_is_kept_is_found_word_for_word(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    prompts = Prompts(tmp_path_factory.mktemp("store") / "verdicts.sqlite")
    prompts.keep("sha256:1", texts)
    assert prompts.find("sha256:1") == tuple(texts)
    assert prompts.find("sha256:2") is None


def test_a_text_that_prompts_share_is_kept_once_and_small(tmp_path: Path) -> None:
    prompts, record = Prompts(tmp_path / "verdicts.sqlite"), "the same long record " * 10_000
    for number in range(10):
        prompts.keep(f"sha256:{number}", (record, f"question {number}"))
    files = [path for path in prompts.folder.rglob("*") if path.is_file()]
    assert len(files) == 1 + 10 + 10
    assert sum(path.stat().st_size for path in files) < len(record) / 10
    assert prompts.find("sha256:7") == (record, "question 7")


def test_a_name_from_elsewhere_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text('["x"]')
    assert Prompts(tmp_path / "verdicts.sqlite").find("../secret") is None
    assert Prompts(tmp_path / "verdicts.sqlite").find("") is None


def test_damage_and_a_full_disk_are_store_errors(tmp_path: Path) -> None:
    prompts = Prompts(tmp_path / "verdicts.sqlite")
    prompts.keep("sha256:1", ("text",))
    for path in prompts.folder.rglob("*"):
        if path.is_file():
            path.write_bytes(b"{}")
    with pytest.raises(StoreError, match="sha256:1"):
        prompts.find("sha256:1")
    in_the_way = Prompts(tmp_path / "other.sqlite")
    in_the_way.folder.write_text("a file")
    with pytest.raises(StoreError, match=r"other\.prompts"):
        in_the_way.keep("sha256:1", ("text",))
