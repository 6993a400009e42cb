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
