"""Files of other programs' rubrics that are named oddly, are damaged or hostile, or hold what has no counterpart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.errors import InputError
from tests.interchange.test_importing import one, read

ROW = {"prompt_id": "p", "rubrics": [{"criterion": "says it", "points": 2, "tags": []}]}


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json", "rows"])
def test_rows_are_told_by_their_content_whatever_the_file_is_called(tmp_path: Path, name: str) -> None:
    rows = "\n".join(json.dumps(ROW | {"prompt_id": key}) for key in "ab")
    assert [found.rubric.id for found in read(tmp_path, rows, name)] == ["a", "b"]


def test_a_row_without_criteria_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="row 'q' holds no criteria"):
        read(tmp_path, [ROW, {"prompt_id": "q", "rubrics": []}])


def test_a_key_that_stands_twice_is_an_error_at_its_place(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"source\.json:1:34: .*'weight' twice"):
        read(tmp_path, '[{"criterion": "a", "weight": 1, "weight": 5}]')


def test_yaml_that_begins_like_json_is_still_yaml(tmp_path: Path) -> None:
    assert one(tmp_path, "[{requirement: is short, weight: 2}]", "source.yaml").rubric.tops[0].points == 2
    with pytest.raises(InputError, match=r"source\.json:1:3: can't be parsed: is not JSON"):
        read(tmp_path, "[{requirement: is short, weight: 2}]")


def test_aliases_that_make_more_than_fits_in_memory(tmp_path: Path) -> None:
    text = "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
    for last, this in zip("abcdefg", "bcdefgh", strict=True):
        text += f"{this}: &{this} [{', '.join([f'*{last}'] * 10)}]\n"
    with pytest.raises(InputError, match="more than 2000000 values"):
        read(tmp_path, text, "bomb.yaml")


def test_promptfoo_tests_without_a_counterpart_do_not_cost_the_others(tmp_path: Path) -> None:
    judged = {"type": "llm-rubric", "value": "is kind"}
    code = {"type": "javascript", "value": "true"}
    tests = [{"assert": [judged]}, {"description": "only code", "assert": [code]}, "file://more.csv"]
    (found,) = read(tmp_path, {"tests": tests})
    assert [criterion.description for criterion in found.rubric.tops] == ["is kind"]
    assert found.lost == (
        "the tests in 'file://more.csv' were not read: convert that file too",
        "test 2 (only code) was left out: an assertion of type 'javascript' has no counterpart here",
        "test 2 (only code) was left out: it asserts nothing that has a counterpart here",
    )
    with pytest.raises(InputError, match=r"test 2 \(only code\) was left out"):
        read(tmp_path, {"tests": [{"assert": []}, tests[1]]})
    assert read(tmp_path, [tests[0]])[0].rubric.tops[0].description == "is kind"


def test_promptfoo_sets_of_assertions_are_groups(tmp_path: Path) -> None:
    parts = [{"type": "contains", "value": "a"}, {"type": "llm-rubric", "value": "b", "weight": 3}]
    together = {"type": "assert-set", "assert": parts, "weight": 2, "threshold": 0.5, "metric": "both"}
    empty = {"type": "assert-set", "assert": [{"type": "latency", "threshold": 5}]}
    found = one(tmp_path, {"assert": [together, {**together, "threshold": None}, empty]})
    first, second = found.rubric.tops
    assert first.criteria is not None
    assert [part.points for part in first.criteria] == [1, 3]
    assert (first.points, first.at_least, first.tags, second.at_least) == (2, 0.5, ("both",), 1.0)
    assert any("assert-set" in what for what in found.lost)


@pytest.mark.parametrize(
    ("criterion", "reason"),
    [
        ({"type": "likert", "points": 1}, "from 2 to 100, not 1"),
        ({"type": "likert", "points": 10**9}, "from 2 to 100"),
        ({"type": "likert", "points": 2.5}, "from 2 to 100"),
        ({"type": "numeric", "min": 3, "max": 3}, "from a lower min to a higher max"),
        ({"description": None}, "its text must be text"),
    ],
)
def test_rewardkit_scales_that_are_none(tmp_path: Path, criterion: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read(tmp_path, {"criterion": [{"description": "is good"}, {"description": "is big", **criterion}]})


def test_a_single_choice_of_verifiers_is_asked_as_yes_or_no(tmp_path: Path) -> None:
    found = one(tmp_path, {"criteria": [{"name": "a", "text": "is good", "choices": ["fine"]}]})
    assert found.rubric.tops[0].judge is not None
    assert found.rubric.tops[0].judge.scale is None
    assert found.lost == ("'a': a single choice is no scale, so it is asked as yes or no",)
