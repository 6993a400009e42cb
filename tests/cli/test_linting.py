from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.program import SHORT, run, write_rubric

WRONG = "{id: a, weight: 3, description: 'a, b: c', check: {exists: x.md}}"


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    return write_rubric(tmp_path / "a, b", criteria=[WRONG, "{id: a, points: yes, description: x, judge: {}}"])


def test_a_good_rubric(tmp_path: Path) -> None:
    done = run("lint", write_rubric(tmp_path, criteria=[SHORT]))
    assert (done.code, done.out) == (0, "")
    assert "1 rubric: 0 errors" in done.err


def test_every_fault_has_its_place(wrong: Path) -> None:
    done = run("lint", wrong)
    assert done.code == 2
    lines = done.out.splitlines()
    assert len(lines) >= 3
    assert all(line.startswith(f"{wrong}:") for line in lines)
    assert any(line.startswith(f"{wrong}:3:13: error RG0") and "points" in line for line in lines)


def test_json(wrong: Path) -> None:
    done = run("lint", wrong, "--format", "json")
    assert done.code == 2
    assert done.json["schema"] == "rubricgrade.lint/1"
    first = done.json["findings"][0]
    assert (first["file"], first["level"]) == (str(wrong), "error")
    assert first["line"] >= 3
    assert first["column"] >= 1
    assert first["code"].startswith("RG0")
    assert first["message"]


def test_github_commands_are_escaped(wrong: Path) -> None:
    done = run("lint", wrong, env={"GITHUB_ACTIONS": "true"})
    assert done.code == 2
    for line in done.out.splitlines():
        command, _, message = line.removeprefix("::").partition("::")
        assert command.startswith("error file=")
        assert "a%2C b" in command
        assert message


def test_a_folder_is_searched(tmp_path: Path) -> None:
    write_rubric(tmp_path / "one", criteria=[SHORT])
    write_rubric(tmp_path / "deeper" / "two", criteria=[SHORT]).rename(tmp_path / "deeper" / "x.rubric.yaml")
    done = run("lint", tmp_path)
    assert done.code == 0
    assert "2 rubrics: 0 errors" in done.err


def test_nothing_to_lint_is_bad_input(tmp_path: Path) -> None:
    done = run("lint", tmp_path, tmp_path / "none.yaml")
    assert done.code == 2
    assert "is an empty folder, not a rubric" in done.err
    assert "none.yaml: no such file or folder" in done.err
