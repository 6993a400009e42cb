"""The data set's file: whole lines, one per attempt, whoever writes and whenever it dies."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from rubricgrade.errors import StoreError
from rubricgrade.runs.lines import Line, Tokens, append, read_lines


def line(task: str = "calc", sample: int = 0, text: str = "hello") -> Line:
    return Line(
        run="r",
        task=task,
        sample=sample,
        model="m",
        reward=0.5,
        passed=1,
        total=2,
        status="graded",
        cause=None,
        end="done",
        steps=1,
        usage=Tokens(),
        fork_ms=1,
        agent_ms=1,
        grade_ms=1,
        trajectory="sha256:0",
        task_hash="sha256:1",
        messages=({"role": "user", "content": text},),
    )


def test_lines_come_back_as_they_were(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    made = [line(sample=n, text="a\u2028b \U0001f600\n") for n in range(3)]
    assert all(append(file, one) for one in made)
    assert read_lines(file) == made
    assert file.read_bytes().count(b"\n") == 3


def test_an_attempt_has_one_line(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    assert append(file, line())
    assert not append(file, line(text="again"))
    assert read_lines(file) == [line()]


def test_a_torn_last_line_is_left_out_and_then_replaced(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    append(file, line(sample=0))
    append(file, line(sample=1))
    whole = file.read_bytes()
    for end in range(len(whole) - 1, whole.index(b"\n") + 1, -37):
        file.write_bytes(whole[:end])
        assert read_lines(file) == [line(sample=0)]
    assert append(file, line(sample=1))
    assert file.read_bytes() == whole


def test_damage_in_the_middle_is_told(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    append(file, line())
    file.write_bytes(b"nonsense\n" + file.read_bytes())
    with pytest.raises(StoreError, match=r"t\.jsonl:1"):
        read_lines(file)
    with pytest.raises(StoreError, match=r"t\.jsonl:1"):
        append(file, line(sample=1))


def test_no_file_holds_no_lines(tmp_path: Path) -> None:
    assert read_lines(tmp_path / "none.jsonl") == []
    with pytest.raises(StoreError):
        append(tmp_path / "no folder" / "t.jsonl", line())


def _write(file: Path, first: int) -> None:
    for sample in range(first, first + 10):
        append(file, line(sample=sample, text="x" * 20_000))


def test_many_processes_write_whole_lines(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    context = multiprocessing.get_context("spawn")
    # Five attempts are written by both.
    writers = [context.Process(target=_write, args=(file, 5 * n)) for n in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(one.sample for one in read_lines(file)) == list(range(15))
