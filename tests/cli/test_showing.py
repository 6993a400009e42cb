from __future__ import annotations

import json
from pathlib import Path

import pytest

from rubricgrade.store.grades import grade_files, write_grade
from tests.cli.program import run
from tests.report.made import criterion, gate, grade


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    parts = (criterion("inner", 1, 1, reasoning="because"), criterion("other", 1, 0))
    made = grade(
        0.5,
        gates=(gate("sent", 1),),
        criteria=(criterion("group", 2, 0.5, by="criteria", parts=parts), criterion("plain", 2, 0.5)),
    )
    write_grade(made.model_copy(update={"warnings": ("an older one",)}), tmp_path)
    write_grade(made, tmp_path)
    return tmp_path


def test_the_latest_grade_of_an_episode(folder: Path) -> None:
    done = run("show", folder)
    assert done.code == 0
    assert "report on episode-1: graded, score 0.5" in done.out
    assert "PASS   sent: gate sent" in done.out
    assert "1 + 1 = 2 of 4 -> 0.5" in done.out
    assert "older" not in done.out


def test_one_file(folder: Path) -> None:
    assert "an older one" in run("show", next(grade_files(folder))).out


def test_one_criterion_also_inside_a_group(folder: Path) -> None:
    done = run("show", folder, "--criterion", "inner")
    assert done.code == 0
    assert "because" in done.out
    assert "plain" not in done.out


def test_json_is_the_file(folder: Path) -> None:
    latest = list(grade_files(folder))[-1]
    assert run("show", folder, "--json").json == json.loads(latest.read_text())
    assert run("show", folder, "--json", "-c", "plain").json["id"] == "plain"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--criterion", "nothing"], "there are sent, group, inner, other, plain"),
        (["--prompt"], "--criterion"),
        (["--prompt", "--criterion", "sent"], "no judge was asked about 'sent': a check decides it"),
    ],
)
def test_what_is_not_there(folder: Path, arguments: list[str], words: str) -> None:
    done = run("show", folder, *arguments)
    assert (done.code, done.out) == (2, "")
    assert words in done.err


def test_a_folder_of_episodes_is_listed(tmp_path: Path) -> None:
    for name, score in (("a", 1.0), ("b", 0.25)):
        write_grade(grade(score, criteria=(criterion("c", 1, score),)), tmp_path / "run" / name)
    done = run("show", tmp_path / "run")
    assert done.code == 0
    first, second = done.out.splitlines()
    assert "(a)" in first
    assert "(b)" in second
    assert "0.25" in second
    assert f"rubricgrade show {tmp_path / 'run' / 'a'}" in done.err
    one = run("show", tmp_path / "run", "--json")
    assert (one.code, one.out) == (2, "")
    assert "lists those below" in one.err


def test_an_episode_without_a_grade_has_none_below(episode: Path) -> None:
    for options in ([], ["--json"]):
        done = run("show", episode, *options)
        assert done.code == 2
        assert f"`rubricgrade grade RUBRIC {episode}` grades it first" in done.err


def test_no_grade_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("notes")
    for place, words in (
        ("", "not graded episodes"),
        ("notes.txt", "no grade file"),
        ("absent", "no such file or folder"),
    ):
        done = run("show", tmp_path / place)
        assert done.code == 2
        assert words in done.err
