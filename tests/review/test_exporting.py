from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from rubricgrade.agreement import read_labels
from rubricgrade.errors import InputError
from rubricgrade.review import acting
from rubricgrade.review.exporting import Which, import_labels, labels_file, labels_of, records_file
from rubricgrade.review.tables import FORMS, RECORD, Form
from tests.cli.program import run as program
from tests.review.acts import decide, item_of
from tests.review.made import desk_of

HOSTILE = '=HYPERLINK("http://evil.test";"too curt"), \u201cno\u201d\n\'-second line\u202e'


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_labels_read_in_and_taken_out_are_the_same(run: Path, tmp_path: Path, form: Form) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow", reason="extra 'parquet' is not installed")
    clean = shutil.copytree(run, tmp_path / "clean")
    desk = desk_of(run)
    decide(desk, "one", "polite", "not_met", why=HOSTILE)
    decide(desk, "one", "polite", "met", by="ben")
    decide(desk, "two", "tone", "cold")
    decide(desk, "two", "approved", "cannot_tell")
    data = labels_file(labels_of(desk), form)
    file = tmp_path / f"labels.{form}"
    file.write_bytes(data)
    other = desk_of(clean)
    assert import_labels(other, read_labels(file)) == 4
    assert labels_file(labels_of(desk_of(clean)), form) == data
    assert labels_of(desk_of(clean)) == labels_of(desk)
    assert import_labels(other, read_labels(file)) == 0, "a second time there is nothing new"


def test_the_agreement_command_reads_them(run: Path, tmp_path: Path) -> None:
    desk = desk_of(run)
    decide(desk, "one", "polite", "met")
    decide(desk, "two", "polite", "not_met")
    file = tmp_path / "labels.jsonl"
    assert program("review", run, "--labels-out", file).code == 0
    said = program("agreement", run, "--labels", file, "--draws", "100", "--json").json
    (row,) = [row for row in said["criteria"] if row["criterion"] == "polite"]
    assert (row["compared"], row["accuracy"]["value"]) == (2, 0.5)
    clean = tmp_path / "clean"
    shutil.copytree(run, clean, ignore=shutil.ignore_patterns("reviews"))
    done = program("review", clean, "--labels-in", file)
    assert (done.code, done.err.strip()) == (0, "2 labels read in")
    assert labels_of(desk_of(clean)) == labels_of(desk)


def test_first_final_and_settled_are_apart(run: Path) -> None:
    desk = desk_of(run)
    decide(desk, "one", "polite", "not_met")
    decide(desk, "one", "polite", "met", why="I overlooked it")
    acting.adjudicate(
        desk, item_of(desk, "one", "polite"), "anna", "not_met", cause="other", why="it is curt after all"
    )
    verdicts = [[label.verdict for label in labels_of(desk, which)] for which in ("first", "final", "settled")]
    assert verdicts == [["not_met"], ["met"], ["not_met"]]


def test_every_wrong_label_is_named_and_nothing_is_written(run: Path, tmp_path: Path) -> None:
    desk = desk_of(run)
    decide(desk, "one", "polite", "not_met")
    lines = [
        {"trajectory": "one", "criterion": "complete", "verdict": "met", "by": "anna"},
        {"trajectory": "three", "criterion": "polite", "verdict": "met", "by": "anna"},
        {"trajectory": "one", "criterion": "tone", "verdict": "met", "by": "anna"},
        {"trajectory": "one", "criterion": "answered", "verdict": "met", "by": "anna"},
        {"trajectory": "one", "criterion": "polite", "verdict": "met", "by": "../anna"},
        {"trajectory": "one", "criterion": "polite", "verdict": "met", "by": "anna"},
    ]
    file = tmp_path / "labels.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(InputError) as caught:
        import_labels(desk, read_labels(file), str(file))
    assert [fault.line for fault in caught.value.faults] == [2, 3, 4, 5, 6]
    assert len(labels_of(desk)) == 1


def test_redacted_exports_hold_no_address(run: Path) -> None:
    desk = desk_of(run)
    decide(desk, "one", "polite", "met", why="ask jane.doe@example.com")
    pytest.importorskip("pyarrow", reason="extra 'parquet' is not installed")
    for form in FORMS:
        for data in (labels_file(labels_of(desk), form, redact=True), records_file(desk, form, redact=True)):
            assert b"[e-mail hidden]" in data
            assert b"jane.doe" not in data
    lines = records_file(desk, redact=True).splitlines()
    assert all(json.loads(line) for line in lines)
    assert b"jane.doe@example.com" in records_file(desk)


def test_records_as_tables_hold_every_act(run: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="extra 'parquet' is not installed")
    desk = desk_of(run)
    empty = parquet.read_table(io.BytesIO(records_file(desk, "parquet")))
    decide(desk, "one", "polite", "not_met", why=HOSTILE, quotes=("arrives tomorrow",))
    decide(desk, "one", "polite", "met", why="I overlooked it")
    acting.skip(desk, item_of(desk, "two", "tone"), "ben", "=1+1")
    acting.adjudicate(desk, item_of(desk, "one", "polite"), "anna", "met", cause="other", why="it greets")
    rows = list(csv.DictReader(io.StringIO(records_file(desk, "csv").decode(), newline="")))
    lines = [json.loads(line) for line in records_file(desk).splitlines()]
    assert [(row["id"], row["kind"], row["by"]) for row in rows] == [
        (one["id"], one["kind"], one["by"]) for one in lines
    ]
    assert tuple(rows[0]) == RECORD
    first = rows[0]
    assert (first["blind"], first["drawn"], first["probability"], first["evidence"]) == (
        "true",
        "all",
        "1.0",
        "arrives tomorrow",
    )
    assert next(row for row in rows if row["kind"] == "skipped")["why"] == "'=1+1"
    table = parquet.read_table(io.BytesIO(records_file(desk, "parquet")))
    assert table.schema == empty.schema, "whatever is in it"
    found = table.to_pylist()
    assert [row["blind"] for row in found if row["kind"] == "decided"] == [True, False]
    assert next(row for row in found if row["kind"] == "skipped")["why"] == "=1+1"
    assert found[0]["cause"] is None


@pytest.mark.parametrize(("which", "verdict"), [("first", "not_met"), ("final", "met")])
def test_the_ending_says_what_is_written(run: Path, tmp_path: Path, which: Which, verdict: str) -> None:
    desk = desk_of(run)
    decide(desk, "one", "polite", "not_met")
    decide(desk, "one", "polite", "met", why="I overlooked it")
    file = tmp_path / "labels.csv"
    assert program("review", run, "--labels-out", file, "--which", which).code == 0
    header, line = file.read_text().splitlines()
    assert header == "trajectory,criterion,verdict,by,why"
    assert line.startswith(f"one,polite,{verdict},anna,")
    said = program("agreement", run, "--labels", file, "--draws", "100", "--json").json
    (row,) = [row for row in said["criteria"] if row["criterion"] == "polite"]
    assert row["compared"] == 1
