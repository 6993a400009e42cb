"""`rubricgrade convert`: the program itself."""

from __future__ import annotations

import json
from pathlib import Path

from rubricgrade.loading import load_rubric, parse_rubric
from rubricgrade.readers import load_trajectory
from tests.cli.program import run

LISTED = [{"criterion": "Names the file", "weight": 3}, {"criterion": "Is short", "weight": 1, "note": "x"}]


def test_a_rubric_to_stdout_and_to_a_file(tmp_path: Path) -> None:
    source = tmp_path / "list.json"
    source.write_text(json.dumps(LISTED))
    done = run("convert", source)
    assert done.code == 0
    assert [each.points for each in parse_rubric(done.out).tops] == [3, 1]
    assert "not carried over: 'note' has no place here" in done.err
    to = tmp_path / "new" / "rubric.yaml"
    assert run("convert", source, "-o", to, "--strict").code == 1
    assert load_rubric(to).hash == parse_rubric(done.out).hash


def test_several_rubrics_need_a_folder(tmp_path: Path) -> None:
    source = tmp_path / "rows.jsonl"
    row = {"prompt_id": "same", "rubrics": [{"criterion": "Is right", "points": 5, "tags": []}]}
    source.write_text("\n".join([json.dumps(row)] * 2))
    done = run("convert", source)
    assert (done.code, "name a folder" in done.err) == (2, True)
    assert run("convert", source, "-o", tmp_path / "out").code == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["same-2.rubric.yaml", "same.rubric.yaml"]


def test_our_rubric_for_others(tmp_path: Path) -> None:
    source = tmp_path / "list.json"
    source.write_text(json.dumps(LISTED))
    ours = tmp_path / "rubric.yaml"
    assert run("convert", source, "-o", ours).code == 0
    done = run("convert", ours, "--to", "verifiers")
    assert [each["weight"] for each in json.loads(done.out)["criteria"]] == [3, 1]
    assert run("convert", ours, "--to", "nothing").code == 2


def test_trajectories(tmp_path: Path) -> None:
    source = tmp_path / "chat.json"
    source.write_text(json.dumps([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]))
    done = run("convert", source, "--to", "atif")
    assert [step["source"] for step in json.loads(done.out)["steps"]] == ["user", "agent"]
    assert run("convert", source, "--to", "trajectory", "-o", tmp_path / "ours.json").code == 0
    assert load_trajectory(tmp_path / "ours.json").final_message == "Hello"


def test_what_can_not_be_read_is_bad_input(tmp_path: Path) -> None:
    done = run("convert", tmp_path / "missing.json")
    assert (done.code, "can't be read" in done.err) == (2, True)
