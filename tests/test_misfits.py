"""What pydantic finds wrong, in our words; no sentence of pydantic's own reaches anybody."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

import rubricgrade
from rubricgrade.agreement.labels import read_labels
from rubricgrade.errors import RubricgradeError
from rubricgrade.misfits import first_misfit, misfits
from rubricgrade.runs.manifest import read_manifest
from rubricgrade.store.grades import read_grade
from rubricgrade.store.recorded import read_verdicts


class Tea(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["tea"]
    minutes: int = Field(ge=1, le=9)


class Water(BaseModel):
    kind: Literal["water"]


class Order(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    name: str = Field(min_length=1, max_length=5)
    size: Literal["small", "large"] = "small"
    sugar: float = 0.0
    milk: bool = False
    drinks: tuple[Annotated[Tea | Water, Field(discriminator="kind")], ...] = ()
    pair: tuple[int, int] = (0, 0)
    either: int | bool = 0
    at: Annotated[str, Field(pattern="^[a-z]$")] = "a"
    even: int = 0

    @field_validator("even")
    @classmethod
    def _even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("is odd")
        return value


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({}, "has no 'name'"),
        ({"name": 7}, "'name' must be text, not 7"),
        ({"name": True}, "'name' must be text, not true"),
        ({"name": None}, "'name' must be text, not nothing"),
        ({"name": ""}, "'name' must be text that is not empty, not the text ''"),
        ({"name": "x" * 60}, f"'name' must be text of at most 5 characters, not the text '{'x' * 30}'..."),
        ({"name": "a", "colour": 1}, "unknown key 'colour'"),
        ({"name": "a", "k" * 60: 1}, f"unknown key '{'k' * 30}'..."),
        ({"name": "a", "size": "huge"}, "'size' must be one of small, large, not the text 'huge'"),
        ({"name": "a", "sugar": "much"}, "'sugar' must be a number, not the text 'much'"),
        ({"name": "a", "sugar": float("nan")}, "'sugar' must be a finite number, not nan"),
        ({"name": "a", "milk": "soy"}, "'milk' must be true or false, not the text 'soy'"),
        ({"name": "a", "drinks": {"kind": "tea"}}, "'drinks' must be a list, not a map"),
        ({"name": "a", "drinks": [{"minutes": 3}]}, "'drinks[0]' has no 'kind'"),
        (
            {"name": "a", "drinks": [{"kind": "rum"}]},
            "'drinks[0].kind' must be one of tea, water, not the text 'rum'",
        ),
        ({"name": "a", "drinks": [{"kind": "tea"}]}, "'drinks[0].tea' has no 'minutes'"),
        (
            {"name": "a", "drinks": [{"kind": "tea", "minutes": 12}]},
            "'drinks[0].tea.minutes' must be a number of at most 9, not 12",
        ),
        ({"name": "a", "pair": [1]}, "'pair' has no item 2"),
        ({"name": "a", "at": "1"}, "'at' must be text that matches ^[a-z]$, not the text '1'"),
        ({"name": "a", "even": 3}, "'even': is odd"),
        ([], "must be a map of keys, not an empty list"),
    ],
)
def test_what_is_wrong_is_said_in_words(data: Any, told: str) -> None:
    with pytest.raises(ValidationError) as raised:
        Order.model_validate(data)
    assert first_misfit(raised.value) == told


def test_every_misfit_is_said_and_what_one_value_may_be_in_one_sentence() -> None:
    with pytest.raises(ValidationError) as raised:
        Order.model_validate({"name": 1, "size": 2, "drinks": ["x"]})
    assert misfits(raised.value) == [
        "'name' must be text, not 1",
        "'size' must be one of small, large, not 2",
        "'drinks[0]' must be a map of keys, not the text 'x'",
    ]


def test_values_can_be_kept_back() -> None:
    with pytest.raises(ValidationError) as raised:
        Order.model_validate({"name": ["secret"], "sugar": "secret", "milk": 12345})
    assert misfits(raised.value, shown=False) == [
        "'name' must be text, not a list",
        "'sugar' must be a number, not this text",
        "'milk' must be true or false, not this number",
    ]


def test_what_is_no_json() -> None:
    with pytest.raises(ValidationError) as raised:
        Order.model_validate_json('{"name": ')
    assert first_misfit(raised.value) == "is no JSON: EOF while parsing a value at line 1 column 9"


def test_the_files_that_people_write_are_refused_in_our_words(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    readers: list[Callable[[], object]] = [
        lambda: read_verdicts(file),
        lambda: read_labels(file),
        lambda: read_grade(file),
        lambda: read_manifest(tmp_path),
    ]
    for text in ('{"schema": "another"}\n', '{"question": 5, "trajectory": 5, "run": 5, "rubric": 5}\n', "[]\n", "x\n"):
        file.write_text(text)
        for read in readers:
            with pytest.raises(RubricgradeError) as raised:
                read()
            assert not re.search(r"[Ii]nput should|Field required|Extra inputs|pydantic", str(raised.value))


def test_nowhere_else_are_pydantics_sentences_taken() -> None:
    package = Path(rubricgrade.__file__).parent
    found = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"\.errors\(|\[.msg.\]", path.read_text("utf-8"))
    ]
    # Rubrics and templates say the line of their file too, and take the words from the first.
    assert sorted(found) == ["loading/shape.py", "misfits.py", "templates/reading.py"]
