"""What a server is not started with: an error that says what to do, before anything listens."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rubricgrade.cli.app import app
from rubricgrade.errors import InputError, MissingExtraError
from tests.server.running import PROGRAM


def refused(*arguments: str) -> str:
    """Why it does not start."""
    found = CliRunner().invoke(app, ["serve", "--port", "0", *arguments])
    assert isinstance(found.exception, InputError), found.output
    return str(found.exception)


def test_it_says_so_and_ends_with_2(rubrics: Path) -> None:
    command = [PROGRAM, "serve", "--rubric", str(rubrics / "judged"), "--host", "0.0.0.0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: 0.0.0.0 can be reached by others, so a token is required; on 127.0.0.1 there may be none\n"
    )


def test_tokens_that_can_not_be_used(rubrics: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rubric = ("--rubric", str(rubrics / "judged"))
    (tmp_path / "empty").write_text("\n")
    assert "is empty" in refused(*rubric, "--token-file", str(tmp_path / "empty"))
    assert "can't be read" in refused(*rubric, "--token-file", str(tmp_path / "nowhere"))
    monkeypatch.setenv("RUBRICGRADE_SERVER_TOKEN", "hunter2")
    said = refused(*rubric)
    assert "at least 16 characters" in said
    assert "hunter2" not in said


def test_rubrics_are_read_first(rubrics: Path, tmp_path: Path) -> None:
    assert "has no rubric.yaml" in refused("--rubrics", str(tmp_path))
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "rubric.yaml").write_text("id: r\ncriteria: []\n")
    assert "rubric.yaml:2" in refused("--rubrics", str(tmp_path))
    twice = refused("--rubric", str(rubrics / "judged"), "--rubric", f"judged={rubrics / 'checked'}")
    assert "two rubrics are named 'judged'" in twice
    assert "is no name for a rubric" in refused("--rubric", f"a/b={rubrics / 'judged'}")
    assert "nothing to grade with" in refused()


def test_the_judge_is_tried_first(rubrics: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    rubric = ("--rubric", str(rubrics / "judged"))
    assert "set OPENAI_API_KEY" in refused(*rubric, "--judge", "openai/gpt-5-mini")
    (tmp_path / "own").mkdir()
    own = "id: own\ncriteria:\n  - {id: a, points: 1, description: d, judge: {model: openai/gpt-5-mini}}\n"
    (tmp_path / "own" / "rubric.yaml").write_text(own)
    assert "rubric own, criterion a: openai/gpt-5-mini" in refused("--rubric", str(tmp_path / "own"))
    (tmp_path / "verdicts.jsonl").write_text("{\n")
    assert "verdicts.jsonl:1" in refused(*rubric, "--offline", "--verdicts", str(tmp_path / "verdicts.jsonl"))


def test_a_port_that_is_taken(rubrics: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = refused("--rubric", str(rubrics / "judged"), "--port", str(taken.getsockname()[1]))
    assert "can't listen on 127.0.0.1" in said


@pytest.mark.parametrize("module", ["uvicorn", "starlette", "prometheus_client"])
def test_without_the_extra_it_says_what_to_install(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == module or ".server" in name]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    found = CliRunner().invoke(app, ["serve", "--rubric", "x"])
    assert isinstance(found.exception, MissingExtraError)
    assert "pip install 'rubricgrade[server]'" in str(found.exception)
