"""Writing our rubrics for others, and reading them back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.errors import InputError
from rubricgrade.interchange import EXPORTS, export_rubric, import_rubrics
from rubricgrade.rubric import Rubric

SUFFIXES = {"autorubric": ".yaml", "rewardkit": ".toml", "healthbench": ".jsonl"}
SCALE = [{"choice": "none", "value": 0.0}, {"choice": "some", "value": 0.5}, {"choice": "much", "value": 1.0}]
RIGHT: dict[str, Any] = {"id": "right", "description": 'says "48.2L"\nin words', "points": 3.0, "judge": {}}
CLEAR: dict[str, Any] = {"id": "clear", "description": "is clear", "points": 2.0, "judge": {"scale": SCALE}}
WRONG: dict[str, Any] = {"id": "wrong", "description": "invents a number", "points": -4.0, "judge": {}}


def rubric(*criteria: dict[str, Any], **body: Any) -> Rubric:
    return Rubric.model_validate({"id": "mine", "criteria": list(criteria), **body})


@pytest.mark.parametrize("name", EXPORTS)
def test_what_is_written_reads_back(tmp_path: Path, name: str) -> None:
    made = export_rubric(rubric(RIGHT, CLEAR, WRONG), name)
    path = tmp_path / f"out{SUFFIXES.get(name, '.json')}"
    path.write_text(made.text)
    (back,) = import_rubrics(path, name)
    kept = [each for each in (RIGHT, CLEAR, WRONG) if each["points"] > 0 or name not in {"verifiers", "rewardkit"}]
    assert [(each.description, each.points) for each in back.rubric.tops] == [
        (each["description"], each["points"]) for each in kept
    ]
    scales = name in {"autorubric", "verifiers", "rewardkit"}
    clear = back.rubric.tops[1].judge
    assert clear is not None
    assert (clear.scale is not None) == scales
    assert any("'clear': its scale" in what for what in made.lost) != scales
    assert any("'wrong': negative points" in what for what in made.lost) == (len(kept) == 2)


def test_everything_that_does_not_fit_is_listed() -> None:
    check = {"trajectory": {"max_steps": 5}}
    group = {"id": "g", "description": "g", "points": 4, "criteria": [{**RIGHT, "points": 1}, {**CLEAR, "points": 3}]}
    made = export_rubric(
        rubric(
            {**group, "at_least": 0.5},
            {"id": "by-code", "description": "short", "points": 1, "check": check},
            {"id": "by-hand", "description": "nice", "points": 1, "human": {}},
            {"id": "fatal", "description": "leaks", "veto": True, "judge": {}},
            {**WRONG, "needs": ["right"], "tags": ["t"], "judge": {"guidance": "look twice", "votes": 3}},
            gates=[{"id": "gate", "description": "short", "check": check}],
        ),
        "gandalf",
    )
    assert [row["weight"] for row in json.loads(made.text)] == [1.0, 3.0, -4.0]
    for word in (
        "gate 'gate'", "group 'g'", "'by-code': decided by code", "'by-hand': decided by a reviewer", "'fatal': a veto",
        "'wrong': 'needs'", "'judge.guidance'", "'judge.votes'", "'wrong': its tags", "'clear': its scale",
    ):  # fmt: skip
        assert any(word in what for what in made.lost), word


def test_uneven_choices_are_lost_where_they_are_evenly_spaced() -> None:
    uneven = {**CLEAR, "judge": {"scale": [{**SCALE[0]}, {**SCALE[1], "value": 0.9}, {**SCALE[2]}]}}
    assert any("evenly spaced" in what for what in export_rubric(rubric(uneven), "verifiers").lost)
    assert not any("evenly spaced" in what for what in export_rubric(rubric(uneven), "autorubric").lost)


def test_nothing_to_write_is_an_error() -> None:
    by_code = {"id": "a", "description": "short", "points": 1, "check": {"trajectory": {"max_steps": 5}}}
    with pytest.raises(InputError, match="no criterion of this rubric can be written as gandalf"):
        export_rubric(rubric(by_code), "gandalf")
    with pytest.raises(InputError, match="there is no format 'nothing'"):
        export_rubric(rubric(RIGHT), "nothing")
