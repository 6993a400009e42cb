"""The JSON Schema for editors: it takes every rubric that loads, and sees faults of shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

from rubricgrade.loading import rubric_schema
from rubricgrade.loading.document import read_document
from rubricgrade.rubric import Rubric
from tests.random_rubrics import rubrics

ROOT = Path(__file__).parent.parent
RUBRICS = sorted([*ROOT.glob("rubrics/*/rubric.yaml"), *ROOT.glob("examples/**/rubric.yaml")])
VALIDATOR = Draft202012Validator(rubric_schema())


def complaints(text: str | bytes) -> list[str]:
    document = read_document(text, "f")
    assert not document.faults
    return [error.message for error in VALIDATOR.iter_errors(document.data)]


def criterion(text: str) -> list[str]:
    return complaints(f"id: r\ncriteria:\n  - {text}\n")


def test_it_is_a_schema() -> None:
    of_schemas = Draft202012Validator(Draft202012Validator.META_SCHEMA)
    assert [error.message for error in of_schemas.iter_errors(rubric_schema())] == []


def test_the_file_that_ships_is_current() -> None:
    assert json.loads((ROOT / "rubrics/rubric.schema.json").read_text()) == rubric_schema()


@pytest.mark.parametrize("path", RUBRICS, ids=lambda path: str(path.relative_to(ROOT)))
def test_it_takes_every_rubric_of_ours(path: Path) -> None:
    assert complaints(path.read_bytes()) == []


@pytest.mark.parametrize(
    "text",
    [
        "{id: é-1, points: -0.5, description: d, judge: }",
        "{id: a, description: d, veto: true, human: }",
        "{id: a, points: 1, description: d, check: shared, pick: f1}",
        "{id: a, points: 1, description: d, check: {command: make test}}",
        "{id: a, points: 1, description: d, check: {command: [make, test], timeout: 5}}",
        "{id: a, points: 1, description: d, check: {command: {run: [make], equals: null}}}",
        "{id: a, points: 1, description: d, check: {python: 'a.py:f', with: {x: [1, {y: null}]}}}",
        "{id: a, points: 1, description: d, check: {not: {exists: a.txt}}}",
        "{id: a, points: 1, description: d, check: {csv: {path: a.csv, column: b, row: 1, equals: 3}, within: 0.5%}}",
        "{id: a, points: 1, description: d, full_at: 1, criteria: [{id: b, points: 1, description: d, judge: {}}]}",
    ],
)
def test_it_takes_the_short_forms(text: str) -> None:
    assert criterion(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "{id: a, wieght: 3, points: 1, description: d, judge: {}}",
        "{id: a, points: 1, description: d}",
        "{id: a, points: 1, description: d, judge: {}, human: {}}",
        "{id: a, description: d, judge: {}}",
        "{id: a, points: 1, veto: true, description: d, judge: {}}",
        "{points: 1, description: d, judge: {}}",
        "{id: a, points: 1, judge: {}}",
        "{id: a b, points: 1, description: d, judge: {}}",
        "{id: -a, points: 1, description: d, judge: {}}",
        "{id: 7, points: 1, description: d, judge: {}}",
        "{id: a, points: '1', description: d, judge: {}}",
        "{id: a, points: true, description: d, judge: {}}",
        "{id: a, points: , description: d, judge: {}}",
        "{id: a, points: 1, description: ' ', judge: {}}",
        "{id: a, points: 1, description: d, veto: yes, judge: {}}",
        "{id: a, points: 1, description: d, judge: {scale: []}}",
        "{id: a, points: 1, description: d, judge: {scale: {3: good}}}".replace("3:", "'3':"),
        "{id: a, points: 1, description: d, judge: {votes: 0}}",
        "{id: a, points: 1, description: d, judge: {sees: [all]}}",
        "{id: a, points: 1, description: d, check: {exists: a, contains: {path: a, text: b}}}",
        "{id: a, points: 1, description: d, check: {timeout: 3}}",
        "{id: a, points: 1, description: d, check: {exists: a, with: {x: 1}}}",
        "{id: a, points: 1, description: d, check: {cases: {file: c.json}}}",
        "{id: a, points: 1, description: d, check: {python: a.py}}",
        "{id: a, points: 1, description: d, check: {trajectory: {at_least: 1}}}",
        "{id: a, points: 1, description: d, check: {exists: a}, bands: [{value: 1}]}",
        "{id: a, points: 1, description: d, judge: {}, for_each: {vars: x}}",
        "{id: a, points: 1, description: d, judge: {}, at_least: 2}",
    ],
)
def test_it_sees_faults_of_shape(text: str) -> None:
    assert criterion(text)


@pytest.mark.parametrize(
    "text",
    [
        "id: r\n",
        "id: r\ncriteria: []\n",
        "id: r\ntask: x\ngates: []\n",
        "gates: []\n",
        "id: r\ngates: [{id: g, description: d}]\n",
        "id: r\ngates: [{id: g, description: d, check: a, points: 1}]\n",
        "id: r\nvars: {a b: 1}\ngates: []\n",
        "id: r\nvars: {a: {b: 1}}\ngates: []\n",
        "id: r\nchecks: {a b: {exists: x}}\ngates: []\n",
        "id: r\nformat: 2\ngates: []\n",
        "- a\n",
    ],
)
def test_it_sees_faults_of_the_whole(text: str) -> None:
    assert complaints(text)


@given(rubrics())
def test_it_takes_what_a_rubric_in_code_is_written_as(of: Rubric) -> None:
    assert not list(VALIDATOR.iter_errors(of.model_dump(mode="json", exclude_unset=True)))


def test_keys_have_descriptions_for_people() -> None:
    schema = rubric_schema()
    assert schema["properties"]["vars"]["description"].startswith("Values that a task may override")
    check: dict[str, Any] = schema["$defs"]["Check"]["properties"]
    assert check["with"]["description"] == "Arguments of the author's function (`case.args`)."
    assert "Attributes" not in json.dumps(schema)
