"""Strict YAML: what is read, what is refused, and where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rubricgrade.loading import document as reading
from rubricgrade.loading.document import Spot, read_document
from rubricgrade.loading.scalars import resolve

ROOT = Path(__file__).parent.parent
RUBRICS = sorted([*ROOT.glob("rubrics/*/rubric.yaml"), *ROOT.glob("examples/**/rubric.yaml")])


def codes(text: str | bytes) -> list[tuple[int, int, str]]:
    return [(fault.line, fault.column, fault.code) for fault in read_document(text, "f.yaml").faults]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"), ("yes", "yes"), ("off", "off"), ("on", "on"), ("y", "y"), ("NO", "NO"),
        ("true", True), ("False", False), ("null", None), ("~", None), ("", None),
        ("0", 0), ("-0", 0), ("+7", 7), ("48", 48), ("9223372036854775807", 2**63 - 1),
        ("1.5", 1.5), ("1e3", 1000.0), (".5", 0.5), ("5.", 5.0), ("-2.5E-1", -0.25),
        ("1.2.3", "1.2.3"), ("12:75", "12:75"), ("2024-01", "2024-01"), ("3 files", "3 files"), ("-", "-"),
        ("1,000", "1,000"), ("nan", "nan"), ("inf", "inf"), ("=", "="), ("٣", "٣"), ("0x", "0x"), ("1_a", "1_a"),
    ],
)  # fmt: skip
def test_plain_scalars_follow_the_core_rules(text: str, value: object) -> None:
    found = resolve(text)
    assert found == (value, "")
    assert type(found[0]) is type(value)


@pytest.mark.parametrize(
    "text",
    ["007", "-01", "00.5", "0x10", "0o17", "0b101", "0XfF", "1_000", "1_0.5", "12:30", "12:30:45", "-1:30", "2024-01-01",
     "2024-1-1", "2024-01-01T10:00:00Z", "2024-01-01 10:00:00 +2", ".nan", ".NaN", "-.inf", "+.Inf", "1e999", "-1e400",
     "9223372036854775808", "-9223372036854775809", "1" * 5000],
)  # fmt: skip
def test_what_other_readers_take_for_something_else_must_be_quoted(text: str) -> None:
    value, problem = resolve(text)
    assert value == text
    assert problem
    assert codes(f"a: {text}\n") == [(1, 4, "RG003")]
    assert read_document(f'a: "{text}"\n', "f").data == {"a": text}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: fix issue #12\n", [(1, 4, "RG004")]),
        ("- a\n- two words # a remark\n", [(2, 3, "RG004")]),
        ("a: >#5\n  b\n", [(1, 4, "RG004")]),
        ("a: &x 1\n", [(1, 4, "RG005")]),
        ("a: 1\nb: *a\n", [(2, 4, "RG005")]),
        ("a: !!str 5\n", [(1, 4, "RG005")]),
        ("a: !x {b: 1}\n", [(1, 4, "RG005")]),
        ("a:\n  <<: {b: 1}\n", [(2, 3, "RG005")]),
        ("a: 1\n---\nb: 1\n", [(2, 1, "RG005")]),
        ("%YAML 1.1\n---\na: 1\n", [(1, 1, "RG005")]),
        ("a: 1\nb: 2\na: 3\n", [(3, 1, "RG006")]),
        ("a: {b: 1, 'b': 2}\n", [(1, 11, "RG006")]),
        ("1: a\n'1': b\n", [(1, 1, "RG007"), (2, 1, "RG006")]),
        ("true: a\n", [(1, 1, "RG007")]),
        ("a: {{ vars.x }}\n", [(1, 5, "RG007")]),
        ("a:\n\tb: 1\n", [(2, 1, "RG001")]),
        ("a: b\tc\n", [(1, 4, "RG001")]),
        ("a: b\t\n", [(1, 4, "RG001")]),
        ("a: b: c\n", [(1, 5, "RG001")]),
        ("a: @b\n", [(1, 4, "RG001")]),
        ("a: 'b\n", [(2, 1, "RG001")]),
        ("", [(1, 1, "RG001")]),
        ("# nothing\n", [(1, 1, "RG001")]),
        ("é: b\x07\n", [(1, 5, "RG002")]),
        ("a: b\x00", [(1, 5, "RG002")]),
        ("a: 'x\u2028y'\n", [(1, 6, "RG002")]),
        ('a: "\\0"\n', [(1, 4, "RG002")]),
        (b"a: 1\nb: \xff\n", [(2, 4, "RG002")]),
        ("a: 1".encode("utf-16"), [(1, 1, "RG002")]),
        ("a: 1 # one\nb: 'x' # two\nc: # three\n  - d\n", []),
        ("\ufeffa: 1\n", []),
        ("---\na: 1\n", []),
        ("a: |\n  text # no comment\n", []),
        ("a: C#\n", []),
    ],
)  # fmt: skip
def test_faults_have_their_place(text: str | bytes, expected: list[tuple[int, int, str]]) -> None:
    assert codes(text) == expected


def test_everything_that_is_wrong_is_said_at_once() -> None:
    text = "a: 007\nb: *x\nc: fix #1\na: 2\nd: {e: 1, e: .nan}\n"
    assert [code for _, _, code in codes(text)] == ["RG003", "RG005", "RG004", "RG006", "RG006", "RG003"]


def test_a_duplicate_names_both_lines() -> None:
    (fault,) = read_document("criteria:\n- a\ngates: []\ncriteria:\n- b\n", "r.yaml").faults
    assert str(fault) == "r.yaml:4:1: key 'criteria' stands twice: here and on line 1"


def test_nested_deeper_than_anyone_writes() -> None:
    for text in ("[" * 10_000, "- " * 10_000 + "a", "{a: " * 10_000, "a: " + "[" * 500 + "]" * 500):
        (fault,) = read_document(text, "f").faults
        assert "deeper" in fault.message


def test_an_alias_bomb_is_refused_unexploded() -> None:
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30))]
    found = {fault.code for fault in read_document("\n".join(lines), "f").faults}
    assert found == {"RG005"}


def test_size_is_limited() -> None:
    assert [fault.code for fault in read_document(b"a: " + b"x" * 100, "f", max_bytes=50).faults] == ["RG002"]


def test_spots_are_those_of_keys_and_values() -> None:
    spots = read_document("gates:\n  - id: é\n    check:\n      mail: {to: x}\n", "f").spots
    assert spots[("gates", 0, "id")] == Spot(2, 9, 2, 5)
    assert spots[("gates", 0, "check", "mail", "to")] == Spot(4, 18, 4, 14)


TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029\ufeff\ufffe\uffff"), max_size=20
)
SCALAR = (
    st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
DATA = st.recursive(
    SCALAR | TEXT, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12
)


@given(DATA)
def test_json_is_read_as_what_it_says(data: Any) -> None:
    document = read_document(json.dumps({"data": data}, ensure_ascii=False), "f")
    assert document.faults == []
    assert document.data == {"data": data}


def with_pure_parser(monkeypatch: pytest.MonkeyPatch, text: str | bytes) -> reading.Document:
    with monkeypatch.context() as patched:
        patched.setattr(reading, "LOADER", yaml.SafeLoader)
        return read_document(text, "f")


@pytest.mark.parametrize("path", RUBRICS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_pure_parser_reads_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, pure = read_document(path.read_bytes(), "f"), with_pure_parser(monkeypatch, path.read_bytes())
    assert not ours.faults
    assert (ours.data, ours.spots) == (pure.data, pure.spots)


PIECES = ["a", "b", "é", ": ", ":", " ", "- ", "#", " #", "&x", "*x", "!t", "{", "}", "[", "]", "'", '"', "\n", "\n  ",
          "\n- ", "\t", "0x1", "1_0", "7", "|\n ", "> ", "%", "@", ",", "? ", "---\n", "<<", "~", "null", "\\0", "12:30"]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join) | st.text(max_size=40))
def test_no_text_breaks_the_reader_and_both_parsers_agree(text: str) -> None:
    ours = read_document(text, "f")
    with pytest.MonkeyPatch.context() as patched:
        pure = with_pure_parser(patched, text)
    lines = text.count("\n") + text.count("\r") + 2
    for fault in ours.faults:
        assert fault.message
        assert 1 <= fault.line <= lines
        assert fault.column >= 1
    if not ours.faults and not pure.faults:
        assert (ours.data, ours.spots) == (pure.data, pure.spots)


@given(st.binary(max_size=60))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    document = read_document(data, "f")
    assert document.faults or document.data is not None or data.strip()
