"""The model of an episode: what it refuses, what it derives, and that whatever text it holds can be stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rubricgrade.trajectory import Call, Image, Other, Step, Text, Trajectory
from rubricgrade.trajectory import Warning as Remark


def step(role: Any, text: Any = "", **more: Any) -> Any:
    return Step(role=role, content=(Text(text=text),) if text else (), **more)


def asked(*names: Any) -> Any:
    return Step(role="assistant", calls=tuple(Call(name=name, arguments={}) for name in names))


def episode(*steps: Any, **more: Any) -> Any:
    fields: dict[str, Any] = {"id": "e", "steps": steps, **more}
    return Trajectory(**fields)


@pytest.mark.parametrize("answers", [(0, 1), (5, 1), (1, 0), (1, 3), (-1, 1), (2, 1)])
def test_a_result_answers_a_call_of_an_earlier_step(answers: Any) -> None:
    with pytest.raises(ValidationError, match="there is no call"):
        episode(step("user", "a"), asked("f", "g"), step("tool", answers=answers))


def test_a_call_has_one_result() -> None:
    with pytest.raises(ValidationError, match="has a result already"):
        episode(asked("f"), step("tool", answers=(0, 1)), step("tool", answers=(0, 1)))


@pytest.mark.parametrize(
    "name", ["", "a/b", "a\\b", ".", "..", ".git", "a\nb", "x" * 201, "a\ud800/", "grades", "Workspace"]
)
def test_an_id_that_could_not_name_a_folder(name: Any) -> None:
    with pytest.raises(ValidationError):
        episode(step("user", "a"), id=name)


def test_a_tool_makes_no_calls() -> None:
    with pytest.raises(ValidationError, match="a tool step makes none"):
        Step(role="tool", calls=(Call(name="f", arguments={}),))


def test_an_episode_has_steps() -> None:
    with pytest.raises(ValidationError):
        episode()


@given(text=st.text(st.characters(exclude_categories=()), max_size=30))
def test_any_text_can_be_stored(text: Any) -> None:
    trajectory = episode(
        Step(
            role="assistant",
            content=(Text(text=text), Other(kind=text, value={text: [text]})),
            reasoning=text,
            calls=(Call(id=text, name=text, arguments={text: text}, raw=text),),
            extra={text: {"a": text}},
        ),
        task=text,
        meta={text: text},
        warnings=(Remark(place=text, message=text),),
    )
    assert trajectory.hash.startswith("sha256:")
    stored = trajectory.model_dump_json().encode()
    assert Trajectory.model_validate_json(stored) == trajectory
    assert b"\0" not in stored
    assert json.loads(stored)["task"] == text.translate({0: 0x2400} | dict.fromkeys(range(0xD800, 0xE000), 0xFFFD))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((step("assistant", "a"),), "a"),
        ((step("assistant", "a"), step("user", "thanks")), "a"),
        ((step("assistant", "a"), step("assistant", " \n")), None),
        ((step("assistant", "a"), asked("f"), step("tool", "r", answers=(1, 1))), None),
        ((step("user", "a"),), None),
    ],
)
def test_the_final_message(steps: Any, expected: Any) -> None:
    assert episode(*steps).final_message == expected


def test_the_instruction_is_the_task_or_the_first_user_message() -> None:
    steps = (step("system", "s"), step("user", "first"), step("user", "second"))
    assert episode(*steps).instruction == "first"
    assert episode(*steps, task="t").instruction == "t"
    assert episode(step("assistant", "x")).instruction == ""


def test_calls_and_results_by_address() -> None:
    trajectory = episode(step("user", "u"), asked("f", "g"), step("tool", answers=(1, 2)), step("tool", answers=(1, 1)))
    assert [(index, number, call.name) for index, number, call in trajectory.calls()] == [(1, 1, "f"), (1, 2, "g")]
    assert trajectory.results == {(1, 2): 2, (1, 1): 3}


def test_images_and_unknown_parts_have_a_text_that_stands_for_them() -> None:
    image = Image(media_type="image/png", sha256="ab" * 32, size=7)
    told = Step(
        role="user", content=(Text(text="see"), image, Image(url="http://x.test/a"), Other(kind="k", value={"b": 1}))
    )
    assert told.text == (
        'see\n[image image/png, 7 bytes, sha256 abababababab]\n[image image/*, 0 bytes, http://x.test/a]\n{"b":1}'
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"data": "not base64"},
        {"data": "é"},
        {"sha256": "../../../etc/passwd"},
        {"size": -1},
    ],
)
def test_an_image_is_base64_with_a_hash(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Image(**fields)


def test_where_its_files_lie_is_no_part_of_it(tmp_path: Path) -> None:
    trajectory = episode(step("user", "a"))
    located = trajectory.located(folder=tmp_path, workspace=tmp_path / "workspace", world=Path("world"))
    assert (located.folder, located.workspace, located.world) == (tmp_path, tmp_path / "workspace", Path("world"))
    assert (trajectory.folder, trajectory.workspace, trajectory.world) == (None, None, None)
    assert located == trajectory
    assert hash(located) == hash(trajectory)
    assert located.hash == trajectory.hash


def test_the_hash_leaves_out_warnings_and_nothing_else() -> None:
    plain = episode(step("user", "a"))
    assert episode(step("user", "a"), warnings=(Remark(place="", message="m"),)).hash == plain.hash
    assert episode(step("user", "b")).hash != plain.hash
    assert episode(step("user", "a"), reward=1.0).hash != plain.hash
    assert plain != episode(step("user", "b"))
    assert plain != "a"


def test_a_warning_names_its_place_where_it_has_one() -> None:
    assert str(Remark(place="line 3", message="was cut")) == "line 3: was cut"
    assert str(Remark(place="", message="was cut")) == "was cut"
