"""What a check's process may say: nothing that a hostile file could make of it gets further than here."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricgrade.checks.messages import Found, Run, understand

FOUND: dict[str, Any] = {
    "op": "found", "value": 0.5, "measured": None, "fields": {"a": 1}, "evidence": [{"quote": "q", "where": None}],
    "message": "m", "passed": 1, "total": 2, "faulted": 0,
}  # fmt: skip
RUN: dict[str, Any] = {
    "op": "run", "argv": ["ls"], "stdin": "aGk=", "files": {"a": "eA=="}, "env": {}, "cwd": None, "timeout": 1, "fresh": False,
}  # fmt: skip


def test_a_result_and_a_question_are_understood() -> None:
    found = understand(json.dumps(FOUND).encode())
    assert isinstance(found, Found)
    assert (found.value, found.fields, found.evidence[0].quote) == (0.5, {"a": 1.0}, "q")
    run = understand(json.dumps(RUN).encode())
    assert isinstance(run, Run)
    assert (run.stdin, run.files) == (b"hi", {"a": b"x"})


@pytest.mark.parametrize(
    "change",
    [
        {"value": "NaN"}, {"value": float("nan")}, {"measured": float("inf")}, {"value": "x"}, {"fields": {"a": float("nan")}},
        {"fields": []}, {"evidence": "x"}, {"evidence": [{}]}, {"value": [1]}, {"op": "other"}, {"op": None}, {"more": 1},
        {"evidence": [{"quote": "q", "where": None}] * 51}, {"passed": 1.5}, {"value": 10**400},
    ],
)  # fmt: skip
def test_anything_else_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        understand(json.dumps({**FOUND, **change}).encode())


@pytest.mark.parametrize(
    "change", [{"argv": []}, {"argv": "ls"}, {"stdin": 1}, {"timeout": float("inf")}, {"files": ["a"]}]
)
def test_a_question_of_the_wrong_shape_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        understand(json.dumps({**RUN, **change}).encode())


@settings(deadline=None)
@given(st.binary() | st.text().map(str.encode) | st.sampled_from([b"[" * 100_000, b'{"op":' * 10_000, b"null", b""]))
def test_no_line_does_worse_than_be_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        understand(line)


def test_long_texts_are_cut() -> None:
    found = understand(json.dumps({**FOUND, "message": "x" * 10_000}).encode())
    assert isinstance(found, Found)
    assert len(found.message) == 500
