"""Loading of files with many episodes: lines, lists, faults, ids, forced formats, and files that are no trajectory."""

from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricgrade.errors import TrajectoryError
from rubricgrade.readers import load_trajectories, load_trajectory, write_trajectory
from tests.readers.made import USER, all_loaded, call, codes, lines, written

DONE = {"role": "assistant", "content": "done"}
EPISODE = {"messages": [USER, DONE]}
CUT = '{"messages": [{"role": "user", "content": "we'


def places(error: Any) -> Any:
    return [(fault.line, fault.message) for fault in error.faults]


def test_a_cut_line_in_the_middle_is_reported_and_the_others_can_be_read(tmp_path: Path) -> None:
    file = lines(tmp_path, [EPISODE, EPISODE, EPISODE, CUT, EPISODE, EPISODE, EPISODE, EPISODE])
    with pytest.raises(TrajectoryError) as caught:
        load_trajectories(file)
    [(line, message)] = places(caught.value)
    assert line == 4
    assert "may have been cut" in message
    assert caught.value.faults[0].file == str(file)

    read = load_trajectories(file, strict=False)
    assert [one.id for one in read] == [f"file-{n}" for n in (1, 2, 3, 5, 6, 7, 8)]
    assert all("not_read" in codes(one) for one in read)
    assert all(one.warnings[-1].place == "line 4" for one in read)


def test_every_bad_line_is_named_with_line_place_and_reason(tmp_path: Path) -> None:
    orphan = {"messages": [USER, {"role": "tool", "tool_call_id": "nobody", "content": "x"}]}
    rows = [EPISODE] * 50
    rows[16] = {"messages": [USER, {"content": "no role"}]}
    rows[29] = orphan
    file = lines(tmp_path, rows)
    with pytest.raises(TrajectoryError) as caught:
        load_trajectories(file)
    text = str(caught.value)
    assert f"{file}:17: messages[1].role: is missing" in text
    assert "line 30: messages[1]: tool result for call nobody" in text
    # The orphan is no fault: its line is read, with a warning. Only line 17 is lost.
    read = load_trajectories(file, strict=False)
    assert len(read) == 49
    assert [one.id for one in read if "orphan_result" in codes(one)] == ["file-30"]


@pytest.mark.parametrize("cut_first", [True, False])
def test_one_conversation_on_many_lines(tmp_path: Path, cut_first: Any) -> None:
    messages = [USER, {"role": "assistant", "tool_calls": [call(id="a")]}, {"role": "tool", "tool_call_id": "a"}, DONE]
    file = lines(tmp_path, messages)
    assert load_trajectory(file).results == {(1, 1): 2}
    rows = [CUT, *messages] if cut_first else [*messages, CUT]
    broken = lines(tmp_path, rows, "broken.jsonl")
    with pytest.raises(TrajectoryError, match=f"broken.jsonl:{1 if cut_first else 5}:"):
        load_trajectory(broken)
    read = load_trajectory(broken, strict=False)
    assert (read.id, len(read.steps), codes(read)) == ("broken", 4, ["not_read"])


def test_a_bad_message_on_a_line_of_its_own_is_named_by_its_line(tmp_path: Path) -> None:
    file = lines(tmp_path, [USER, {"role": "x", "content": "y"}, DONE])
    with pytest.raises(TrajectoryError) as caught:
        load_trajectories(file)
    assert places(caught.value)[0][0] == 2


def test_lists_of_records_and_lists_of_conversations(tmp_path: Path) -> None:
    assert [one.id for one in all_loaded(tmp_path, [EPISODE, EPISODE])] == ["file-0", "file-1"]
    assert len(all_loaded(tmp_path, [[USER, DONE], [USER]])) == 2
    with pytest.raises(TrajectoryError, match=r"\[1\]: messages\[0\]\.role"):
        all_loaded(tmp_path, [EPISODE, {"messages": [{"content": "x"}]}])


def test_an_object_that_holds_a_list_of_episodes_says_what_it_leaves_out(tmp_path: Path) -> None:
    result = {"role": "tool", "id": "c1", "content": "x", "requestor": "assistant", "error": False}
    asked = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "name": "get", "arguments": {}}]}
    runs = [{"id": "s1", "task_id": "7", "trial": 0, "messages": [USER, asked, result]}, {"id": "s2", **EPISODE}]
    read = all_loaded(tmp_path, {"timestamp": "now", "info": {}, "simulations": runs})
    assert [(one.id, one.task_id, one.sample) for one in read] == [("s1", "7", 0), ("s2", None, None)]
    assert read[0].results == {(1, 1): 2}
    assert [warning.message for warning in read[0].warnings] == [
        "left out what stands beside 'simulations': info, timestamp"
    ]
    with pytest.raises(TrajectoryError, match=r"simulations\[1\]: messages\[0\]"):
        all_loaded(tmp_path, {"simulations": [EPISODE, {"messages": ["x"]}]})


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_packed_file_is_unpacked_and_a_damaged_one_is_an_error(tmp_path: Path, pack: Any) -> None:
    data = pack(f"{json.dumps([USER])}\n{json.dumps([USER, USER])}\n".encode())
    file = tmp_path / "file.jsonl.packed"
    file.write_bytes(data)
    assert [(one.id, len(one.steps)) for one in load_trajectories(file)] == [("file-1", 1), ("file-2", 2)]
    file.write_bytes(data[:5] + b"\xff" * 20)
    with pytest.raises(TrajectoryError, match=r"file\.jsonl\.packed: can't be read"):
        load_trajectories(file)


def test_a_packed_file_is_not_unpacked_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rubricgrade.readers.source.MOST_BYTES", 1 << 20)
    file = tmp_path / "bomb.json.gz"
    file.write_bytes(gzip.compress(b" " * (1 << 21)))
    with pytest.raises(TrajectoryError, match="unpacks to more than 1 MiB"):
        load_trajectories(file)


def test_values_of_many_lines_one_after_the_other(tmp_path: Path) -> None:
    whole = "\n".join(json.dumps(value, indent=2) for value in ([USER], [USER, USER], [USER] * 3))
    assert [len(one.steps) for one in load_trajectories(written(tmp_path, whole))] == [1, 2, 3]
    cut = written(tmp_path, whole[:-20])
    with pytest.raises(TrajectoryError, match=r"file\.json:\d+:\d+: is not JSON.*cut while it was written"):
        load_trajectories(cut)
    read = load_trajectories(cut, strict=False)
    assert [(len(one.steps), codes(one)) for one in read] == [(1, ["not_read"]), (2, ["not_read"])]
    with pytest.raises(TrajectoryError, match="is not JSON: Extra data"):
        load_trajectories(written(tmp_path, json.dumps([USER], indent=2) + "\n7"))


def test_one_episode_is_asked_for_and_there_are_several(tmp_path: Path) -> None:
    with pytest.raises(TrajectoryError, match="holds 2 episodes, and one is wanted"):
        load_trajectory(written(tmp_path, [EPISODE, EPISODE]))


def test_ids_are_made_distinct_with_a_warning(tmp_path: Path) -> None:
    rows = [{"id": "a", **EPISODE}, {"id": "a", **EPISODE}, {"id": "a-2", **EPISODE}, {"id": "a", **EPISODE}]
    read = load_trajectories(lines(tmp_path, rows))
    assert [one.id for one in read] == ["a", "a-3", "a-2", "a-4"]
    assert [codes(one) for one in read] == [[], ["id"], [], ["id"]]


@pytest.mark.parametrize("name", ["../../etc/passwd", "..", ".hidden", "a/b", "a\nb", "x" * 500, "\u202e"])
def test_an_id_can_name_a_folder_whatever_the_file_says(tmp_path: Path, name: Any) -> None:
    made = all_loaded(tmp_path, {"id": name, **EPISODE})[0].id
    assert 0 < len(made) <= 200
    assert not {"/", "\\", "\n"} & {*made}
    assert not made.startswith(".")
    folder = tmp_path / made
    folder.mkdir()
    assert folder.resolve().parent == tmp_path.resolve()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        (" \n \n", "is empty"),
        ("hello", "is not JSON"),
        ("{", "is not JSON"),
        ('{\n "messages": [\n  {"role": "user"', "is not JSON: .*may have been cut"),
        ("{}", "is empty: no messages"),
        ("[]", "is empty: no messages"),
        ("5", "no trajectory of a known format"),
        ('{"foo": 1}', "no trajectory of a known format"),
        ("[1, 2, 3]", "no trajectory of a known format"),
        ("[" * 100_000, "is nested deeper than 100 levels$"),
        ('{"messages": ' + "[" * 500 + "]" * 500 + "}", "nested deeper"),
        ("1" * 5000, "holds a number of thousands of digits$"),
        ('[{"role": "user", "content": "a"}]\x00\x00\x00', "is not JSON"),
    ],
)
def test_a_file_that_is_no_trajectory(tmp_path: Path, text: Any, reason: Any) -> None:
    with pytest.raises(TrajectoryError, match=reason):
        load_trajectories(written(tmp_path, text))


def test_json_that_is_cut_says_line_and_column(tmp_path: Path) -> None:
    with pytest.raises(TrajectoryError) as caught:
        load_trajectory(written(tmp_path, '{\n "messages": [\n  {"role": "user",\n'))
    assert caught.value.faults[0].line == 4


def test_bytes_that_are_no_text_are_replaced_and_noted(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'[{"role": "user", "content": "a\xff"}]')
    trajectory = load_trajectory(tmp_path / "a.json")
    assert (trajectory.steps[0].text, codes(trajectory)) == ("a\ufffd", ["json"])


def test_a_missing_file_and_a_folder_without_an_episode(tmp_path: Path) -> None:
    with pytest.raises(TrajectoryError, match="can't be read: No such file"):
        load_trajectory(tmp_path / "none.json")
    with pytest.raises(TrajectoryError, match=r"holds no trajectory\.json"):
        load_trajectory(tmp_path)


def test_json_that_python_takes_and_others_do_not_is_noted(tmp_path: Path) -> None:
    text = '{"messages": [{"role": "user", "content": "x", "a": NaN, "b": 1e999}]}'
    trajectory = load_trajectory(written(tmp_path, text))
    assert trajectory.steps[0].extra == {"a": "NaN", "b": "1e999"}
    assert len(codes(trajectory)) == 2
    json.dumps(trajectory.model_dump(mode="json"), allow_nan=False)


def test_a_key_that_stands_twice_is_an_error_at_its_place(tmp_path: Path) -> None:
    text = (
        '{"messages": [\n {"role": "user", "content": "\\"role\\": {"},\n {"role": "assistant", "r\\u006fle": "user"}]}'
    )
    with pytest.raises(TrajectoryError) as caught:
        load_trajectory(written(tmp_path, text))
    [fault] = caught.value.faults
    assert (fault.line, fault.column) == (3, 24)
    assert fault.message == "has the key 'role' twice in one object"


def test_a_line_with_a_key_twice_costs_only_itself(tmp_path: Path) -> None:
    whole = json.dumps(EPISODE)
    file = tmp_path / "file.jsonl"
    file.write_text(f'{whole}\n{{"id": "a", "id": "b", {whole[1:]}\n{whole}\n')
    with pytest.raises(TrajectoryError) as caught:
        load_trajectories(file)
    assert places(caught.value) == [(2, "has the key 'id' twice in one object")]
    assert [one.id for one in load_trajectories(file, strict=False)] == ["file-1", "file-3"]


def test_arguments_with_a_key_twice_are_kept_as_they_came(tmp_path: Path) -> None:
    raw = '{"n": 2, "n": 1}'
    call = {"id": "c", "type": "function", "function": {"name": "pay", "arguments": raw}}
    trajectory = load_trajectory(written(tmp_path, json.dumps([USER, {"role": "assistant", "tool_calls": [call]}])))
    [kept] = trajectory.steps[1].calls
    assert (kept.arguments, kept.raw) == (None, raw)
    [warning] = [one for one in trajectory.warnings if one.code == "malformed_arguments"]
    assert warning.message == "the text of arguments has the key 'n' twice in one object; kept as text"


def test_a_format_can_be_forced(tmp_path: Path) -> None:
    file = written(tmp_path, EPISODE)
    assert load_trajectory(file, format="chat").final_message == "done"
    with pytest.raises(TrajectoryError, match=r"there is no format 'yaml'; known are .*atif"):
        load_trajectory(file, format="yaml")
    with pytest.raises(TrajectoryError):
        load_trajectory(file, format="atif")


def test_a_file_of_faults_only_is_an_error_even_if_asked_to_skip(tmp_path: Path) -> None:
    with pytest.raises(TrajectoryError):
        load_trajectories(lines(tmp_path, [{"messages": [{"content": 1}]}, {"messages": []}]), strict=False)


def test_lines_that_are_json_but_no_object(tmp_path: Path) -> None:
    file = lines(tmp_path, [EPISODE, "5", EPISODE, '"x"'])
    with pytest.raises(TrajectoryError) as caught:
        load_trajectories(file)
    assert places(caught.value) == [(2, message := "is JSON, but neither an object nor an array"), (4, message)]


def test_a_file_with_many_faults_lists_the_first_of_them_in_each_warning(tmp_path: Path) -> None:
    [read] = load_trajectories(lines(tmp_path, [EPISODE, *[{"messages": []}] * 30]), strict=False)
    assert codes(read) == ["not_read"] * 21
    assert read.warnings[-1].message == "10 more faults of the file are not listed"


def test_errors_survive_a_process_pool(tmp_path: Path) -> None:
    with pytest.raises(TrajectoryError) as caught:
        load_trajectory(written(tmp_path, "{"))
    assert pickle.loads(pickle.dumps(caught.value)).faults == caught.value.faults


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = [
    *(
        "role",
        "content",
        "type",
        "text",
        "tool_calls",
        "function",
        "arguments",
        "id",
        "tool_call_id",
        "name",
        "messages",
    ),
    *("traj", "choices", "message", "request", "response", "output", "input", "call_id", "history", "action", "source"),
    *(
        "observation",
        "kind",
        "schema_version",
        "steps",
        "schema",
        "eval",
        "samples",
        "traces",
        "nodes",
        "parent",
        "prompt",
    ),
    *("completion", "attributes", "resourceSpans", "sessionId", "uuid", "usage", "task", "sample", "image_url", "args"),
]
WORDS = [
    *("user", "assistant", "tool", "system", "text", "tool_use", "tool_result", "function_call", "reasoning", "image"),
    *(
        "ATIF-v1.7",
        "agent",
        "ActionEvent",
        "ObservationEvent",
        "rubricgrade.trajectory/1",
        "message",
        "data:image/png,",
    ),
    *("function_call_output", "mcp_call", "thinking", "{}", "", "<think>", "finish", "\0", "x"),
]
shaped = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=25,
)


@settings(max_examples=400, deadline=None)
@given(value=json_values | shaped | st.lists(st.dictionaries(st.sampled_from(KEYS), shaped, max_size=6), max_size=4))
def test_any_json_is_a_trajectory_or_a_trajectory_error(value: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("any")
    try:
        read = load_trajectories(written(folder, value), strict=False)
    except TrajectoryError:
        return
    for trajectory in read:
        assert load_trajectory(write_trajectory(trajectory, folder / "again.json")) == trajectory


@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=60) | st.binary(max_size=40).map(lambda tail: b"PK\x03\x04" + tail))
def test_any_bytes_are_a_trajectory_or_a_trajectory_error(data: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("any") / "file"
    file.write_bytes(data)
    with pytest.raises(TrajectoryError):
        load_trajectories(file)
