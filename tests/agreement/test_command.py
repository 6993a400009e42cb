"""`rubricgrade agreement` on real grade files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rubricgrade.agreement import Label
from tests.agreement.made import grade, judged, label, write_labels, write_run
from tests.cli.program import run

PEOPLE = ["met"] * 20 + ["not_met"] * 20


@pytest.fixture
def graded(tmp_path: Path) -> Path:
    """40 episodes; the judge agrees on `clear` except in one, and on `vague` in half of them."""
    grades = {
        f"task/{number}": grade(
            f"e{number}",
            judged("clear", "not_met" if number == 3 else person),
            judged("vague", ("met", "not_met")[number % 2]),
            judged("alone", "met"),
        )
        for number, person in enumerate(PEOPLE)
    }
    return write_run(tmp_path / "run", grades)


def labels(criterion: str = "clear") -> list[Label]:
    return [label(f"e{number}", criterion, person) for number, person in enumerate(PEOPLE)]


def test_a_row_for_each_criterion_and_one_for_all(graded: Path, tmp_path: Path) -> None:
    file = write_labels(tmp_path / "l.jsonl", [*labels(), *labels("vague")])
    done = run("agreement", graded, "--labels", file)
    assert done.code == 0, done.err
    rows = {line.split()[0]: line for line in done.out.splitlines() if line and ":" not in line}
    assert rows["clear"].endswith("automatic")
    assert rows["vague"].endswith("flag only")
    assert rows["ALL"].endswith("flag only")
    assert "vague: may only flag: kappa is 0.000" in done.out
    assert "not labelled: alone" in done.out


def test_one_document(graded: Path, tmp_path: Path) -> None:
    file = write_labels(tmp_path / "l.jsonl", [*labels(), label("gone", "clear", "met")])
    done = run("agreement", graded, "--labels", file, "--json")
    assert done.code == 0, done.err
    document = done.json
    assert document["schema"] == "rubricgrade.agreement/1"
    (clear,) = [row for row in document["criteria"] if row["criterion"] == "clear"]
    assert (clear["compared"], clear["accuracy"]["value"], clear["automatic"]) == (40, 39 / 40, True)
    assert document["pooled"]["kappa"] == clear["kappa"]
    assert document["judges"] == ["openai/a"]
    assert document["unmatched"] == {"no grade of such a trajectory is here": 1}
    again = run("agreement", graded, "--labels", file, "--json")
    assert again.out == done.out
    assert run("agreement", graded, "--labels", file, "--json", "--seed", "1").json != document


def test_below_the_bar_is_1(graded: Path, tmp_path: Path) -> None:
    clear, vague = (write_labels(tmp_path / f"{name}.jsonl", labels(name)) for name in ("clear", "vague"))
    assert run("agreement", graded, "--labels", clear, "--min-kappa", "0.9").code == 0
    done = run("agreement", graded, "--labels", vague, "--min-kappa", "0.1")
    assert done.code == 1
    assert "below the bar: kappa of all is 0.000, asked for at least 0.1" in done.out
    assert run("agreement", graded, "--labels", vague, "--json", "--min-kappa", "0.1").json["below"]


def test_an_undefined_kappa_reaches_no_bar(graded: Path, tmp_path: Path) -> None:
    file = write_labels(tmp_path / "l.jsonl", [label(f"e{number}", "alone", "met") for number in range(4)])
    done = run("agreement", graded, "--labels", file, "--min-kappa", "-1")
    assert done.code == 1
    assert "undefined (one label" in done.out
    assert run("agreement", graded, "--labels", file).code == 0


def test_a_scale_has_a_bar_of_its_own(tmp_path: Path) -> None:
    verdicts = ["none", "some", "all"] * 4
    graded = write_run(
        tmp_path / "run", {f"{n}": grade(f"e{n}", judged("s", verdict)) for n, verdict in enumerate(verdicts)}
    )
    file = write_labels(tmp_path / "l.jsonl", [label(f"e{n}", "s", "none") for n in range(12)])
    done = run("agreement", graded, "--labels", file, "--min-kappa", "0.5")
    assert done.code == 1
    assert "kappa of s is 0.000" in done.out


def test_the_latest_grade_counts(graded: Path, tmp_path: Path) -> None:
    file = write_labels(tmp_path / "l.jsonl", labels())
    write_run(graded, {"task/3": grade("e3", judged("clear", "met"))})
    document = run("agreement", graded, "--labels", file, "--json").json
    assert document["pooled"]["accuracy"]["value"] == 1


def test_a_rubric_tells_the_order_that_grades_do_not(tmp_path: Path) -> None:
    scale = "[{choice: none, value: 0}, {choice: some, value: 0.5}, {choice: all, value: 1}]"
    rubric = tmp_path / "rubric.yaml"
    rubric.write_text(f"id: r\ncriteria:\n  - {{id: s, points: 1, description: how much, judge: {{scale: {scale}}}}}\n")
    graded = write_run(
        tmp_path / "run", {f"{n}": grade(f"e{n}", judged("s", ("none", "all")[n % 2])) for n in range(8)}
    )
    file = write_labels(tmp_path / "l.jsonl", [label(f"e{n}", "s", ("none", "some")[n % 2]) for n in range(8)])
    without = run("agreement", graded, "--labels", file, "--json").json["criteria"][0]["weighted_kappa"]
    assert "the place of some in the scale is not known" in without["undefined"]
    told = run("agreement", graded, "--labels", file, "--rubric", rubric, "--json").json["criteria"][0]
    assert told["weighted_kappa"]["value"] is not None


def test_what_lies_in_an_agents_workspace_is_no_grade(graded: Path, tmp_path: Path) -> None:
    file = write_labels(tmp_path / "l.jsonl", labels())
    write_run(graded / "task" / "0" / "workspace" / "run", {"fake": grade("e1", judged("clear", "not_met"))})
    assert run("agreement", graded, "--labels", file, "--json").json["pooled"]["accuracy"]["value"] == 39 / 40


def test_ids_can_not_write_to_the_terminal(tmp_path: Path) -> None:
    graded = write_run(tmp_path / "run", {f"{n}": grade(f"e{n}", judged("c\x1b[2J", "met")) for n in range(2)})
    file = write_labels(tmp_path / "l.jsonl", [label("e0", "c\x1b[2J", "met")])
    done = run("agreement", graded, "--labels", file)
    assert done.code == 0, done.err
    assert "\x1b" not in done.out


def test_bad_input_is_2_and_prints_nothing(graded: Path, tmp_path: Path) -> None:
    good = write_labels(tmp_path / "l.jsonl", labels())
    strange = write_labels(tmp_path / "s.jsonl", [label("gone", "clear", "met")])
    wrong = tmp_path / "w.jsonl"
    wrong.write_text(json.dumps({"trajectory": "e1"}) + "\n")
    (tmp_path / "empty").mkdir()
    for place, file, words in (
        (graded, wrong, "w.jsonl:1:"),
        (graded, tmp_path / "none.jsonl", "none.jsonl"),
        (graded, strange, "no label belongs to a verdict"),
        (tmp_path / "empty", good, "an empty folder, not graded episodes"),
        (tmp_path / "gone", good, "no such folder"),
    ):
        done = run("agreement", place, "--labels", file)
        assert (done.code, done.out) == (2, ""), done
        assert words in done.err
    assert run("agreement", graded, "--labels", good, "--min-kappa", "nan").code == 2
