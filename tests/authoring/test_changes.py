"""What changed between two rubrics."""

from __future__ import annotations

from pathlib import Path

import pytest

from rubricgrade.authoring.rubric_changes import in_words, rubric_changes
from rubricgrade.loading import load_rubric, parse_rubric
from rubricgrade.result import Grade, Subject
from rubricgrade.store.grades import write_grade
from tests.authoring.calling import run
from tests.report.made import HASH, criterion, grade

BASE = """\
id: r
version: "1"
judge: {guidance: be strict}
vars: {n: 1}
gates:
  - {id: g, description: a file is there, check: {exists: a.md}}
criteria:
  - {id: a, points: 2, description: names the cause, judge: {}}
  - {id: b, points: 1, description: a group, criteria: [{id: c, points: 1, description: is short, judge: {}}]}
"""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("names the cause", "names the root cause", ("a", "description", "asked anew", "names the {+root +}cause")),
        ("points: 2", "points: 3", ("a", "points", "scored anew", "[-2-]{+3+}.0")),
        ("is short, judge: {}", "is short, judge: {votes: 3}", ("c", "judge", "asked anew", '{{+"votes": 3+}}')),
        ("exists: a.md", "exists: b.md", ("g", "check", "checked anew", None)),
        ("be strict", "be mild", ("rubric", "judge", "asked anew", None)),
        ("n: 1", "n: 2", ("rubric", "vars", "asked anew", None)),
        ("is short, judge: {}", "is short, check: {exists: a}", ("c", "judge", "asked anew", None)),
    ],
)
def test_what_a_change_is_and_what_it_costs(old: str, new: str, told: tuple[str, str, str, str | None]) -> None:
    assert old in BASE
    change = rubric_changes(parse_rubric(BASE), parse_rubric(BASE.replace(old, new))).changes[0]
    assert (change.item, change.key, change.effect) == told[:3]
    if told[3] is not None:
        assert change.words == told[3]


def test_labels_and_examples_that_nobody_is_shown_are_no_change() -> None:
    later = BASE.replace('"1"', '"2"').replace("judge: {}}\n", "judge: {}, examples: [{text: x, expect: met}]}\n", 1)
    assert rubric_changes(parse_rubric(BASE), parse_rubric(later)).changes == ()
    shown = later.replace("expect: met", "expect: met, show: true")
    (change,) = rubric_changes(parse_rubric(BASE), parse_rubric(shown)).changes
    assert (change.item, change.key, change.effect) == ("a", "examples", "asked anew")


def test_items_that_came_or_went_and_sealed_files(tmp_path: Path) -> None:
    for name, data in (("one", "1"), ("two", "2")):
        (tmp_path / name / "sealed").mkdir(parents=True)
        (tmp_path / name / "sealed" / "x.csv").write_text(data)
        (tmp_path / name / "rubric.yaml").write_text(BASE.replace("id: a,", f"id: {name},"))
    found = rubric_changes(load_rubric(tmp_path / "one"), load_rubric(tmp_path / "two")).changes
    assert [(each.item, each.key, each.before is None, each.after is None) for each in found] == [
        ("rubric", "sealed file sealed/x.csv", False, False),
        ("two", "", True, False),
        ("one", "", False, True),
    ]


def test_words_of_two_texts_give_both_back() -> None:
    assert in_words("a b c", "a x c") == "a [-b-]{+x+} c"
    assert in_words("", "new") == "{+new+}"
    assert in_words("same", "same") == "same"


def graded(name: str, score: float) -> Grade:
    subject = Subject(id=name, hash=HASH[:-1] + name[-1])
    return grade(score, trajectory=subject, criteria=(criterion("c0", 1, score),))


def test_the_command_takes_rubrics(tmp_path: Path) -> None:
    write_grade(graded("e1", 1.0), tmp_path / "one" / "e1")
    rubrics = run("diff", "bug-fix", "coding-agent", "--json")
    assert rubrics.json["schema"] == "rubricgrade.rubric-changes/1"
    mixed = run("diff", "bug-fix", tmp_path / "one")
    assert mixed.code == 2
    assert "one is a rubric and the other is not" in mixed.err
    alone = run("diff", "bug-fix")
    assert alone.code == 2
    assert "is a rubric: name the one to compare it with" in alone.err
