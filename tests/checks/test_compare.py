from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricgrade.checks.inside.compare import cut, number, same, same_text, show

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


class AlwaysEqual:
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


class Lying(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


@pytest.mark.parametrize(
    ("found", "expected"),
    [(1, 1.0), (1.0, 1), ([1, {"a": None}], [1.0, {"a": None}]), ("a", "a"), (True, True), ((1, 2), [1, 2])],
)
def test_the_same(found: Any, expected: Any) -> None:
    assert same(found, expected)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (True, 1), (1, True), (0, False), (None, 0), (None, False), ("1", 1), (1, "1"), ([], {}), ([1], [1, 2]),
        ({"a": 1}, {"a": 1, "b": 2}), ({"a": 1, "b": 2}, {"a": 1}), (math.nan, math.nan), (math.inf, math.inf),
        ("", None), (AlwaysEqual(), 4), (AlwaysEqual(), "a"), (AlwaysEqual(), None), (Lying(3), 4), ([AlwaysEqual()], [4]),
    ],
)  # fmt: skip
def test_not_the_same(found: Any, expected: Any) -> None:
    assert not same(found, expected)


@settings(deadline=None)
@given(JSON)
def test_every_value_without_infinities_is_the_same_as_itself(value: Any) -> None:
    assert same(value, value) == ("Infinity" not in show(value, 100_000))


@settings(deadline=None)
@given(JSON, JSON)
def test_comparing_has_no_direction(one: Any, other: Any) -> None:
    assert same(one, other) == same(other, one)


@pytest.mark.parametrize(
    ("found", "met"), [(48.441, True), (47.959, True), (48.4410001, False), (47.958, False), (True, False)]
)
def test_a_relative_tolerance_holds_at_its_very_edge(found: Any, met: bool) -> None:
    assert same(found, 48.2, "0.5%") is met


def test_an_absolute_tolerance_is_counted_in_decimals() -> None:
    assert same(0.3, 0.1, 0.2)
    assert not same(0.3000001, 0.1, 0.2)
    assert same([1.05], [1], 0.05)


@pytest.mark.parametrize(
    ("text", "value"),
    [("48.2", 48.2), (" 1,234.5 ", 1234.5), ("-3", -3), ("1e3", 1000.0), (".5", 0.5), ("12,345,678", 12345678)],
)
def test_texts_that_are_numbers(text: str, value: float) -> None:
    assert number(text) == value


@pytest.mark.parametrize(
    "text", ["", "-", ".", "1,23", "1 2", "nan", "inf", "1e999", "٣", "0x10", "1_000", "9" * 65, "e5"]
)
def test_texts_that_are_none(text: str) -> None:
    assert number(text) is None


def test_a_cell_says_its_value() -> None:
    assert same_text(" 48.2 ", 48.2)
    assert same_text("TRUE", expected=True)
    assert same_text("", None)
    assert same_text(" West ", "West")
    assert not same_text("west", "West")
    assert not same_text("1", expected=True)
    assert not same_text("48.3", 48.2)
    assert same_text("48.3", 48.2, "1%")


@settings(deadline=None)
@given(st.text(), st.integers(3, 50))
def test_a_cut_text_is_no_longer_than_asked(text: str, limit: int) -> None:
    assert len(cut(text, limit)) <= limit


def test_what_is_no_json_can_still_be_shown() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert "list" in show(deep)
    assert "AlwaysEqual" in show(AlwaysEqual())
