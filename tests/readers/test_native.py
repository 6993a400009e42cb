"""Our own format: what is written reads back equal, what does not fit is named, and writing is all or nothing."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rubricgrade.errors import StoreError, TrajectoryError
from rubricgrade.readers import load_trajectory, trajectory_schema, write_trajectory
from rubricgrade.readers.media import image_of
from rubricgrade.trajectory import Call, Image, Other, Step, Template, Text, Trajectory, Usage
from rubricgrade.trajectory import Warning as Remark
from tests.readers.made import USER, loaded, written

text = st.text(max_size=10)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=5,
)
objects = st.dictionaries(text, values, max_size=3)
parts = st.one_of(
    st.builds(Text, text=text),
    st.builds(Image, media_type=text, sha256=st.sampled_from(["", "ab" * 32]), size=st.integers(0, 9), url=text),
    st.binary(min_size=1, max_size=9).map(lambda data: image_of(base64.b64encode(data).decode(), "image/png")),
    st.builds(Other, kind=text, value=values),
)
usages = st.builds(Usage, input_tokens=st.integers() | st.none(), cost=st.none() | st.floats(0, 9))
made_calls = st.builds(Call, id=st.none() | text, name=text, arguments=st.none() | objects, raw=st.none() | text)
results = st.builds(Step, role=st.just("tool"), content=st.lists(parts, max_size=2).map(tuple), extra=objects)
steps = results | st.builds(
    Step,
    role=st.sampled_from(["system", "user", "assistant"]),
    content=st.lists(parts, max_size=3).map(tuple),
    reasoning=st.none() | text,
    calls=st.lists(made_calls, max_size=2).map(tuple),
    tool=st.none() | text,
    failed=st.none() | st.booleans(),
    time=st.none() | text,
    usage=st.none() | usages,
    extra=objects,
)


@st.composite
def trajectories(draw: Any) -> Any:
    listed = draw(st.lists(steps, min_size=1, max_size=4))
    open_calls: list[tuple[int, int]] = []
    for index, one in enumerate(listed):
        if one.role == "tool" and open_calls:
            listed[index] = one.model_copy(update={"answers": open_calls.pop()})
        open_calls += [(index, number) for number in range(1, len(one.calls) + 1)]
    return Trajectory(
        id=draw(st.sampled_from(["a", "b-1", "é"])),
        task=draw(st.none() | text),
        sample=draw(st.none() | st.integers(0, 9)),
        steps=tuple(listed),
        artifacts=tuple(draw(st.lists(text, max_size=2))),
        template=draw(st.none() | st.builds(Template, name=text, hash=st.none() | text)),
        reward=draw(st.none() | st.floats(allow_nan=False, allow_infinity=False)),
        usage=draw(st.none() | usages),
        meta=draw(objects),
        warnings=tuple(draw(st.lists(st.builds(Remark, place=text, message=text, code=text), max_size=2))),
    )


SCHEMA = jsonschema.Draft202012Validator(trajectory_schema())


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trajectory=trajectories())
def test_what_is_written_reads_back_equal_and_fits_the_schema(
    trajectory: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = write_trajectory(trajectory, tmp_path_factory.mktemp("round") / "t.json")
    assert load_trajectory(file) == trajectory
    assert load_trajectory(file).hash == trajectory.hash
    SCHEMA.validate(json.loads(file.read_text()))


def minimal(**more: Any) -> Any:
    return {"schema": "rubricgrade.trajectory/1", "id": "x", "steps": [{"role": "user"}], **more}


def test_the_smallest_file(tmp_path: Path) -> None:
    assert loaded(tmp_path, minimal()) == Trajectory(id="x", steps=(Step(role="user"),))
    SCHEMA.validate(minimal())


@pytest.mark.parametrize(
    ("value", "reasons"),
    [
        (minimal(schema="rubricgrade.trajectory/2"), ["schema: is 'rubricgrade.trajectory/2'; this version reads"]),
        (minimal(steps=[]), ["'steps' must be a list of at least one item, not an empty list"]),
        (minimal(surprise=1), ["unknown key 'surprise'"]),
        (minimal(sample="1"), ["'sample' must be a whole number, not the text '1'"]),
        (minimal(reward=True), ["'reward' must be a number, not true"]),
        (minimal(id="../x"), ["'id': an id has 1 to 200 printable characters"]),
        (
            minimal(steps=[{"role": "user", "content": [{"type": "text"}]}, {"role": "robot"}]),
            ["'steps[0].content[0]' has no 'text'", "'steps[1].role' must be one of "],
        ),
        (minimal(steps=[{"role": "tool", "answers": [0, 1]}]), ["there is no call 1 in an earlier step 0"]),
    ],
)
def test_every_misfit_is_named(tmp_path: Path, value: Any, reasons: Any) -> None:
    with pytest.raises(TrajectoryError) as caught:
        loaded(tmp_path, value)
    assert len(caught.value.faults) == len(reasons)
    for fault, reason in zip(caught.value.faults, reasons, strict=True):
        assert reason in fault.message


def test_writing_replaces_the_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    first = loaded(tmp_path, [USER])
    file = tmp_path / "deep" / "trajectory.json"
    assert write_trajectory(first, file) == file
    write_trajectory(first.model_copy(update={"reward": 0.5}), file.parent)
    assert load_trajectory(file).reward == 0.5
    assert [one.name for one in file.parent.iterdir()] == ["trajectory.json"]


def test_what_can_not_be_written_leaves_the_old_file_whole(tmp_path: Path) -> None:
    file = write_trajectory(loaded(tmp_path, [USER]), tmp_path / "t.json")
    before = file.read_bytes()
    unfit = load_trajectory(file).model_copy(update={"reward": float("nan")})
    with pytest.raises(ValueError, match="JSON compliant"):
        write_trajectory(unfit, file)
    assert file.read_bytes() == before
    with pytest.raises(StoreError, match="can't be written"):
        write_trajectory(load_trajectory(file), file / "below" / "t.json")


def test_the_text_is_stable_and_leaves_out_what_is_not_set(tmp_path: Path) -> None:
    file = write_trajectory(Trajectory(id="x", steps=(Step(role="user", content=(Text(text="é"),)),)), tmp_path / "t")
    assert json.loads(file.read_text()) == minimal(steps=[{"role": "user", "content": [{"type": "text", "text": "é"}]}])
    assert "é" in file.read_text()


def test_an_unknown_version_is_not_taken_for_another_format(tmp_path: Path) -> None:
    file = written(tmp_path, {"schema": "rubricgrade.trajectory/9", "messages": [USER]})
    with pytest.raises(TrajectoryError, match="this version reads"):
        load_trajectory(file)
