"""Replies that make much work of little text: they are read within bounds, as all else waits meanwhile."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rubricgrade.evidence import Place, Sources, likeness, locate, locating
from rubricgrade.judge.reply import Unreadable, read_reply

NO = '{"reasoning": "", "evidence": [], "answer": "no"}'


def source(text: str) -> Sources:
    return Sources([Place("[1].text", text, "log", "", "[1].text")])


def counted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[int]:
    """How often a function was called, as a list that grows."""
    calls: list[int] = []
    inner = getattr(module, name)

    def counting(*given: Any) -> Any:
        calls.append(1)
        return inner(*given)

    monkeypatch.setattr(module, name, counting)
    return calls


def test_few_objects_in_running_text_are_looked_up_in_the_prompt() -> None:
    looked_up: list[str] = []

    def planted(text: str) -> bool:
        looked_up.append(text)
        return False

    with pytest.raises(Unreadable, match="more than 50 objects"):
        read_reply(f"x {NO * 2000}", ("no", "yes"), planted=planted)
    assert len(looked_up) == 50
    assert read_reply(f"x {NO * 50}", ("no", "yes"), planted=planted).answer == "no"


@pytest.mark.parametrize(("count", "reads"), [(20, True), (21, False), (4000, False)])
def test_no_quote_is_passed_over_because_there_are_too_many(count: int, *, reads: bool) -> None:
    given = {"reasoning": "", "evidence": [{"quote": "some words", "where": "task"}] * count, "answer": "yes"}
    if reads:
        assert len(read_reply(json.dumps(given), ("no", "yes")).quotes) == count
        return
    with pytest.raises(Unreadable, match="more than 20"):
        read_reply(json.dumps(given), ("no", "yes"))


def test_a_quote_is_compared_with_so_many_words_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    record = source("aaaa bbbb " * 20_000)
    compared = counted(monkeypatch, likeness, "_almost_equal")
    assert locate(" ".join(["aaab bbbc"] * 90), record).verified == "not_found"
    assert 0 < len(compared) <= 10_000


def test_a_quote_that_stands_inside_words_is_tried_less_often_the_longer_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    record = source("a" * 50_000)
    tried = counted(monkeypatch, locating, "cuts")
    assert locate("a" * 900, record).verified == "not_found"
    assert 0 < len(tried) < 2000
    assert locate("12", source(f"{'x12 ' * 5000}12")).verified == "verified"


def test_words_of_very_different_lengths_are_not_looked_through() -> None:
    class Watched(str):
        __slots__ = ()

        def __add__(self, other: str) -> str:
            raise AssertionError("letter by letter")

    assert not likeness._almost_equal(Watched("aaaa"), "a" * 4_000_000)
