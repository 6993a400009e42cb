"""Inspect logs: packed by deflate or Zstandard, damaged, cut, killed, or plain JSON."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.errors import TrajectoryError
from rubricgrade.readers import load_trajectories, load_trajectory
from tests.readers.made import SAMPLES, codes, loaded

ZSTD = SAMPLES / "inspect/mockllm_addition_unscored_epochs2.eval"


def sample(**more: Any) -> Any:
    return {"id": "s", "epoch": 1, "input": "hi", "messages": [{"role": "user", "content": "hi"}], **more}


def packed(folder: Any, samples: Any, head: Any = "header.json", method: Any = zipfile.ZIP_DEFLATED) -> Any:
    file = folder / "log.eval"
    with zipfile.ZipFile(file, "w", method) as archive:
        for number, one in enumerate(samples):
            archive.writestr(f"samples/{number}_epoch_1.json", one if isinstance(one, str) else json.dumps(one))
        archive.writestr(head, json.dumps({"eval": {"model": "m", "task": "t"}}))
    return file


def test_zstandard_with_an_unscored_sample() -> None:
    read = load_trajectories(ZSTD)
    assert [(one.id, one.task_id, one.sample, one.reward) for one in read] == [
        ("s1-epoch-1", "s1", 1, 0.7),
        ("s2-epoch-1", "s2", 1, 0.7),
        ("s3-epoch-1", "s3", 1, None),
        ("s1-epoch-2", "s1", 2, 0.7),
        ("s2-epoch-2", "s2", 2, 0.7),
        ("s3-epoch-2", "s3", 2, None),
    ]
    assert [codes(one) for one in read] == [[], [], ["json"], [], [], ["json"]]
    assert read[0].usage is not None
    assert read[0].usage.input_tokens == 666


def test_a_damaged_member_does_not_cost_the_others(tmp_path: Path) -> None:
    data = bytearray(ZSTD.read_bytes())
    with zipfile.ZipFile(ZSTD) as archive:
        member = archive.getinfo("samples/s2_epoch_1.json")
    data[member.header_offset + 200] ^= 0xFF
    file = tmp_path / "log.eval"
    file.write_bytes(data)
    with pytest.raises(TrajectoryError, match=r"samples/s2_epoch_1\.json: can't be read"):
        load_trajectories(file)
    read = load_trajectories(file, strict=False)
    assert [one.id for one in read] == ["s1-epoch-1", "s3-epoch-1", "s1-epoch-2", "s2-epoch-2", "s3-epoch-2"]
    assert all("not_read" in codes(one) for one in read)


def test_a_log_that_was_cut(tmp_path: Path) -> None:
    file = tmp_path / "log.eval"
    file.write_bytes(ZSTD.read_bytes()[:9000])
    with pytest.raises(TrajectoryError, match="no whole zip file"):
        load_trajectories(file)


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    file = packed(tmp_path, ["x" * 100_000])
    # Both headers say that the member is small.
    file.write_bytes(file.read_bytes().replace((100_000).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    with pytest.raises(TrajectoryError, match="damaged: its size or checksum is wrong"):
        load_trajectories(file)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_run_that_was_killed_has_only_its_journal(tmp_path: Path, method: Any) -> None:
    trajectory = load_trajectory(packed(tmp_path, [sample()], head="_journal/start.json", method=method))
    assert (trajectory.model, trajectory.meta["task"]) == ("m", "t")


def test_a_packing_that_is_not_known_and_a_zip_that_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(TrajectoryError, match="packed by method 12"):
        load_trajectories(packed(tmp_path, [sample()], method=zipfile.ZIP_BZIP2))
    with pytest.raises(TrajectoryError, match="without samples"):
        load_trajectories(packed(tmp_path, []))


def test_a_plain_log_and_a_bad_sample_in_it(tmp_path: Path) -> None:
    log = {"eval": {"model": "m"}, "samples": [sample(), sample(id="b", messages=[{"content": "x"}])]}
    with pytest.raises(TrajectoryError, match=r"samples\[1\]: messages\[0\]\.role: is missing"):
        loaded(tmp_path, log)
    [read] = load_trajectories(tmp_path / "file.json", strict=False)
    assert read.id == "s-epoch-1"


def test_attachments_errors_and_reasoning(tmp_path: Path) -> None:
    told = sample(
        messages=[
            {"role": "user", "content": "attachment://abc"},
            {
                "role": "assistant",
                "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "ok"}],
            },
            {"role": "tool", "content": "", "function": "f", "error": {"type": "timeout", "message": "slow"}},
        ],
        attachments={"abc": "the long text"},
        error={"message": "sandbox died"},
        scores={"a": {"value": 1}, "b": {"value": 0}},
    )
    trajectory = load_trajectory(packed(tmp_path, [told]))
    assert trajectory.steps[0].text == "the long text"
    assert (trajectory.steps[1].text, trajectory.steps[1].reasoning) == ("ok", "hm")
    assert (trajectory.steps[2].failed, trajectory.steps[2].tool) == (True, "f")
    assert trajectory.reward is None
    assert codes(trajectory) == ["orphan_result", "error"]


def reply(text: Any, **more: Any) -> Any:
    message = {"role": "assistant", "content": text, **more}
    return {"choices": [{"message": message, "stop_reason": "stop"}], "usage": {"input_tokens": 7, "output_tokens": 2}}


def model(number: Any, output: Any) -> Any:
    return {"event": "model", "completed": f"2026-01-01T00:00:0{number}Z", "output": output}


@pytest.mark.parametrize("ids", [True, False])
def test_events_say_when_a_message_came_and_what_it_cost(tmp_path: Path, ids: Any) -> None:
    named = {"id": "m1"} if ids else {}
    told = sample(
        messages=[
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "a", **named, "tool_calls": [{"id": "c", "function": "f"}]},
            {"role": "tool", "content": "r", "tool_call_id": "c", "function": "f"},
        ],
        events=[
            {"event": "state"},
            model(1, reply("a", **named)),
            {"event": "tool", "id": "c", "timestamp": "2026-01-01T00:00:02Z"},
            {"event": "info", "data": "note"},
        ],
        output={"time": 1.5, "stop_reason": "stop"},
    )
    trajectory = load_trajectory(packed(tmp_path, [told]))
    assert [step.time for step in trajectory.steps] == [None, "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"]
    assert trajectory.steps[1].usage is not None
    assert trajectory.steps[1].usage.input_tokens == 7
    assert (trajectory.meta["time"], trajectory.meta["stop_reason"]) == (1.5, "stop")
    assert [str(warning) for warning in trajectory.warnings] == [
        "samples/0_epoch_1.json: events: events beside the messages were left out: 1 info"
    ]


def test_replies_that_are_no_message_are_named_by_their_place(tmp_path: Path) -> None:
    told = sample(events=[model(1, reply("grade: C", id="other")), "odd", {"event": "tool", "id": 5}])
    trajectory = load_trajectory(packed(tmp_path, [told]))
    assert trajectory.warnings[0].message.endswith("left out: events[0]")


def test_an_output_that_is_no_message_is_the_last_one(tmp_path: Path) -> None:
    trajectory = load_trajectory(packed(tmp_path, [sample(output=reply("42"))]))
    assert [(step.role, step.text) for step in trajectory.steps] == [("user", "hi"), ("assistant", "42")]
    assert codes(trajectory) == ["output"]
    said = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "42"}]
    assert len(load_trajectory(packed(tmp_path, [sample(messages=said, output=reply("42"))])).steps) == 2


@pytest.mark.parametrize("given", ["hi", [{"role": "user", "content": "hi"}]])
def test_a_sample_that_failed_before_its_first_message_has_its_input(tmp_path: Path, given: Any) -> None:
    broken = sample(messages=[], input=given, error={"message": "no sandbox"})
    trajectory = load_trajectory(packed(tmp_path, [broken]))
    assert [(step.role, step.text) for step in trajectory.steps] == [("user", "hi")]
    assert codes(trajectory) == ["no_messages", "error"]


def test_a_log_without_samples_is_an_error_and_no_empty_list(tmp_path: Path) -> None:
    with pytest.raises(TrajectoryError, match="holds no episodes"):
        loaded(tmp_path, {"eval": {"model": "m"}, "samples": []})


def test_attachments_as_old_logs_name_them(tmp_path: Path) -> None:
    told = sample(messages=[{"role": "user", "content": "tc://abc"}], attachments={"abc": "the long text"})
    assert load_trajectory(packed(tmp_path, [told])).steps[0].text == "the long text"


def test_members_that_are_too_large_together_are_not_unpacked(tmp_path: Path) -> None:
    file = packed(tmp_path, ["x" * 1000])
    data = bytearray(file.read_bytes())
    entry = data.index(b"PK\x01\x02")
    data[entry + 24 : entry + 28] = ((1 << 30) + 1).to_bytes(4, "little")
    file.write_bytes(data)
    with pytest.raises(TrajectoryError, match="unpacks to more than 1024 MiB"):
        load_trajectories(file)
