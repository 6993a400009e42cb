from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from rubricgrade.agreement import read_labels
from rubricgrade.errors import InputError
from rubricgrade.review import acting
from rubricgrade.review.exporting import import_labels, label_lines, labels_of, record_lines
from tests.cli.program import run as program
from tests.review.acts import decide, item_of
from tests.review.made import desk_of


def test_labels_read_in_and_taken_out_are_the_same(run: Path, tmp_path: Path) -> None:
    clean = shutil.copytree(run, tmp_path / "clean")
    desk = desk_of(run)
    decide(desk, "one", "polite", "not_met", why="too curt: \u201cno\u201d")
    decide(desk, "one", "polite", "met", by="ben")
    decide(desk, "two", "tone", "cold")
    decide(desk, "two", "approved", "cannot_tell")
    text = label_lines(labels_of(desk))
    file = tmp_path / "labels.jsonl"
    file.write_text(text)
    other = desk_of(clean)
    assert import_labels(other, read_labels(file)) == 4
    assert label_lines(labels_of(desk_of(clean))) == text
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
    for text in (label_lines(labels_of(desk), redact=True), record_lines(desk, redact=True)):
        assert "[e-mail hidden]" in text
        assert "jane.doe" not in text
        assert all(json.loads(line) for line in text.splitlines())
    assert "jane.doe@example.com" in record_lines(desk)
