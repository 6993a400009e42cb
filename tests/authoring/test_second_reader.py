"""A model as a second reader of a rubric's wording: its remarks are warnings, and its failures are nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.authoring.calling import run
from tests.chat.scripted import ScriptedServer, completion, error
from tests.cli.program import Ran, write_rubric

CRITERIA = [
    "{id: a, points: 1, description: explains the cause, judge: {guidance: hidden-guidance}}",
    "{id: b, points: 1, description: is right, judge: {}}",
    "{id: c, points: 1, description: d, check: {exists: x}}",
]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    running = ScriptedServer()
    yield running
    running.close()


def lint(folder: Path, server: ScriptedServer, *more: str) -> Ran:
    path = write_rubric(folder, criteria=CRITERIA)
    judge = ("--llm", "--judge", "openai/x", "--judge-api-base", server.base, "--cache", str(folder / "cache.sqlite"))
    return run("lint", path, "--select", "RG9", *judge, *more, env={"OPENAI_API_KEY": "k"})


def finding(criterion: str, kind: str, why: Any = "because") -> dict[str, Any]:
    return {"criterion": criterion, "kind": kind, "why": why}


def test_what_it_finds_stands_at_the_criterion_and_is_asked_once(tmp_path: Path, server: ScriptedServer) -> None:
    said = [
        finding("b", "circular", "says\nright"),
        finding("a", "ambiguous"),
        finding("c", "ambiguous"),  # no judge decides it
        finding("none", "overlap"),
        finding("a", "invented"),
        finding("a", "several", 3),
    ]
    server.script = [completion(json.dumps({"findings": said}))]
    done = lint(tmp_path, server)
    assert done.code == 0, done.err
    assert [line.partition("rubric.yaml:")[2] for line in done.out.splitlines()] == [
        "3:37: warning RG901: 'a': because",
        "4:37: warning RG903: 'b': says right",
    ]
    assert lint(tmp_path, server, "--strict").code == 1
    assert len(server.seen) == 1
    asked = json.dumps(server.seen[0].body)
    assert "hidden-guidance" in asked
    assert "points" not in asked


@pytest.mark.parametrize("reply", [completion("I would rather not."), error(401, "no such key")])
def test_its_failure_is_said_and_is_no_finding(tmp_path: Path, server: ScriptedServer, reply: Any) -> None:
    server.script = [reply]
    done = lint(tmp_path, server, "--strict")
    assert (done.code, done.out) == (0, "")
    assert "travel: the judge could not read the wording" in done.err


def test_a_reply_that_can_t_be_read_is_asked_for_again(tmp_path: Path, server: ScriptedServer) -> None:
    found = json.dumps({"findings": [finding("a", "ambiguous")]})
    server.script = [completion(f"{found}\nThe others are fine."), completion(found)]
    assert "warning RG901: 'a': because" in lint(tmp_path, server).out
    assert "could not be used: something stands behind its object" in json.dumps(server.seen[1].body)


def test_without_a_judge_nothing_is_asked(tmp_path: Path) -> None:
    done = run("lint", write_rubric(tmp_path, criteria=CRITERIA), "--llm", "--ignore", "RG4,RG3")
    assert done.code == 0
    assert "no judge is named" in done.err
