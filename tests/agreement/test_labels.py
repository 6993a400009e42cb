from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.agreement import read_labels
from rubricgrade.agreement.label_tables import guarded, unguarded
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


@pytest.mark.parametrize("cell", ["=1+1", "'=1+1", "''=", "-5", "+1", "@x", "\tx", "'", "plain", "'plain", ""])
def test_a_cell_that_a_spreadsheet_would_run_is_guarded_and_comes_back(cell: str) -> None:
    assert not guarded(cell).startswith(("=", "+", "-", "@", "\t", "\r"))
    assert unguarded(guarded(cell)) == cell


def test_a_spreadsheet_s_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "l.csv"
    file.write_bytes(
        '\ufeffcriterion,trajectory,by,verdict,why\r\nc,t1,ann,met,"two\r\nlines"\r\n\r\nc,t2,bob,met,\r\n'.encode()
    )
    first, second = read_labels(file)
    assert (first.trajectory, first.by, first.why, first.line) == ("t1", "ann", "two\r\nlines", 2)
    assert (second.trajectory, second.why, second.line) == ("t2", "", 5)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("trajectory,criterion,verdict,by\nt,c,met\n", "is no table of labels: line 2 has 3 cells, and the header 4"),
        ('trajectory,criterion,verdict,by\nt,c,met,"ann\n', "is no table of labels: unexpected end of data"),
        (
            "trajectory,criterion,verdict,by\nt,c,,ann\n",
            "no label: 'verdict' must be text that is not empty, not the text ''",
        ),
        ("trajectory,criterion,verdict\nt,c,met\n", "no label: has no 'by'"),
        (
            "trajectory,criterion,verdict,verdict,by\nt,c,met,not_met,ann\n",
            "is no table of labels: two columns are called 'verdict'",
        ),
        ("trajectory,criterion,verdict,by\n", "holds no label"),
        ("", "holds no label"),
    ],
)
def test_a_table_that_is_none_is_told(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "l.csv").write_text(text)
    with pytest.raises(InputError, match=re.escape(told)):
        read_labels(tmp_path / "l.csv")


def test_what_is_no_parquet_is_told(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="extra 'parquet' is not installed")
    for data in (b"", b"PAR1 cut off PAR1", b"trajectory,criterion\n"):
        (tmp_path / "l.parquet").write_bytes(data)
        with pytest.raises(InputError, match="is no table of labels"):
            read_labels(tmp_path / "l.parquet")


def test_text_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_bytes(b"trajectory,criterion,verdict,by\n\xff,c,met,ann\n")
    with pytest.raises(InputError, match="is no table of labels: 'utf-8' codec can't decode"):
        read_labels(tmp_path / "l.csv")


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "l.jsonl", {**LINE, "by": "bob"}, json.dumps(LINE)[:-1] + ', "verdict": "not_met"}')
    with pytest.raises(InputError) as caught:
        read_labels(file)
    (fault,) = caught.value.faults
    assert (fault.line, fault.message) == (2, "no label: the key 'verdict' stands twice; keep one of them")


@pytest.mark.parametrize("name", ["Ann", "ANN", " ann ", "\u00a0ann"])
def test_one_person_is_one_voter_however_the_name_is_written(tmp_path: Path, name: str) -> None:
    file = write(tmp_path / "l.jsonl", LINE, {**LINE, "by": name, "verdict": "not_met"})
    with pytest.raises(InputError, match="ann has decided c of t1 in line 1 already"):
        read_labels(file)
    file = write(tmp_path / "l.jsonl", LINE, {**LINE, "by": name, "trajectory": "t2"}, {**LINE, "by": "Anne"})
    assert [label.by for label in read_labels(file)] == ["ann", "ann", "Anne"]


def test_a_parquet_table_with_a_column_twice_is_refused(tmp_path: Path) -> None:
    pyarrow: Any = pytest.importorskip("pyarrow", reason="extra 'parquet' is not installed")
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    names = [*LINE, "verdict"]
    table = pyarrow.table([[text] for text in (*LINE.values(), "not_met")], names=names)
    parquet.write_table(table, tmp_path / "l.parquet")
    with pytest.raises(InputError, match="is no table of labels"):
        read_labels(tmp_path / "l.parquet")
