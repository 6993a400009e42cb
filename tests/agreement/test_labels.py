from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from rubricgrade.agreement import read_labels
from rubricgrade.errors import InputError

LINE = {"trajectory": "t1", "criterion": "c", "verdict": "met", "by": "ann"}


def write(path: Path, *lines: Mapping[str, object] | str) -> Path:
    path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in lines))
    return path


def test_lines_are_labels_and_know_where_they_stand(tmp_path: Path) -> None:
    file = write(tmp_path / "l.jsonl", LINE, "", {**LINE, "by": "bob", "why": "hm", "schema": "rubricgrade.label/1"})
    first, second = read_labels(file)
    assert (first.trajectory, first.criterion, first.verdict, first.by, first.line) == ("t1", "c", "met", "ann", 1)
    assert (second.by, second.why, second.line) == ("bob", "hm", 3)


def test_every_line_that_is_none_is_named(tmp_path: Path) -> None:
    file = write(
        tmp_path / "l.jsonl",
        LINE,
        {**LINE, "verdict": True},
        "{",
        {**LINE, "by": ""},
        {key: value for key, value in LINE.items() if key != "by"},
        {**LINE, "trajektory": "x", "by": "eve"},
        {**LINE, "schema": "other", "by": "eve"},
        {**LINE, "verdict": "not_met"},
    )
    with pytest.raises(InputError) as caught:
        read_labels(file)
    assert [fault.line for fault in caught.value.faults] == [2, 3, 4, 5, 6, 7, 8]
    assert "line 1 already" in caught.value.faults[-1].message


def test_a_file_without_labels_or_no_file_is_bad_input(tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", write(tmp_path / "empty.jsonl", "")):
        with pytest.raises(InputError):
            read_labels(path)
