"""What every adapter promises, whatever its host: the same episodes through all of them."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from rubricgrade import JudgeOptions
from rubricgrade.errors import InputError
from tests.chat.scripted import ScriptedServer, Wire, completion, error
from tests.integrations.conftest import WriteRubric
from tests.integrations.plugs import PLUGS, Taken, plug

SAYS_FOUR = {
    "id": "four", "points": 1, "description": "ends with the answer 4",
    "check": {"trajectory": {"final_message": {"contains": "4"}}},
}  # fmt: skip
POLITE = {"id": "polite", "points": 1, "description": "is polite", "judge": {}}
ASKED = [{"role": "user", "content": "What is 2 + 2?"}]
NO_ROW: dict[str, Any] = {}

pytestmark = pytest.mark.parametrize("host", PLUGS)


def judge(server: ScriptedServer) -> JudgeOptions:
    return JudgeOptions(model="openai/judge", api_base=server.base, api_key="k", cache=False)


@pytest.fixture
def make(host: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    return plug(host, monkeypatch)


def test_right_and_wrong_answers_get_their_scores(make: Any, write_rubric: WriteRubric) -> None:
    call = make(write_rubric(SAYS_FOUR))
    assert call(ASKED, "It is 4.", NO_ROW) == Taken(1.0, graded=True)
    assert call(ASKED, "It is 5.", NO_ROW) == Taken(0.0, graded=True)
    assert call("What is 2 + 2?", "4", NO_ROW) == Taken(1.0, graded=True)


def test_nothing_said_is_graded(make: Any, write_rubric: WriteRubric) -> None:
    assert make(write_rubric(SAYS_FOUR))(ASKED, "", NO_ROW) == Taken(0.0, graded=True)


def test_no_judge_is_no_score(make: Any, write_rubric: WriteRubric) -> None:
    assert make(write_rubric(SAYS_FOUR, POLITE))(ASKED, "It is 4.", NO_ROW) == Taken(None, graded=False)


@pytest.mark.parametrize("wire", [error(401), completion("it was fine")], ids=["refused", "no-verdict"])
def test_a_broken_judge_is_no_score(make: Any, write_rubric: WriteRubric, server: ScriptedServer, wire: Wire) -> None:
    server.script = [wire]
    assert make(write_rubric(POLITE), judge=judge(server))(ASKED, "Gladly: 4.", NO_ROW) == Taken(None, graded=False)


@pytest.mark.parametrize("named_in", ["options", "rubric"])
def test_a_judge_that_can_not_be_asked_is_an_error_and_no_missing_score(
    make: Any, named_in: str, write_rubric: WriteRubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    model = "openai/gpt-5-mini"
    rubric = write_rubric(POLITE) if named_in == "options" else write_rubric(POLITE, judge={"model": model})
    options = {"judge": JudgeOptions(model=model)} if named_in == "options" else {}
    with pytest.raises(InputError, match="set OPENAI_API_KEY"):
        make(rubric, **options)(ASKED, "Gladly: 4.", NO_ROW)


def test_a_slow_judge_ends_at_the_limit(make: Any, write_rubric: WriteRubric, server: ScriptedServer) -> None:
    server.script = [Wire(b"", hang=True)]
    call = make(write_rubric(POLITE), judge=judge(server), timeout=0.3)
    assert call(ASKED, "Gladly: 4.", NO_ROW) == Taken(None, graded=False)


def test_a_defect_of_ours_is_no_score_and_is_logged(
    make: Any, write_rubric: WriteRubric, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_given: Any, **_named: Any) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("rubricgrade.integrations.rewarding.agrade", broken)
    with caplog.at_level(logging.WARNING, "rubricgrade.integrations"):
        assert make(write_rubric(SAYS_FOUR))(ASKED, "It is 4.", NO_ROW) == Taken(None, graded=False)
    assert "ZeroDivisionError" in caplog.text


def test_a_row_gives_the_rubric_its_vars(make: Any, write_rubric: WriteRubric) -> None:
    for_each = {"id": "answer", "points": 1, "description": "answers with {{ vars.answer }}", "judge": {}}
    always = {**SAYS_FOUR, "when": "not vars.hard"}
    call = make(write_rubric(always, {**for_each, "when": "vars.hard"}, vars={"hard": False, "answer": "4"}))
    assert call(ASKED, "It is 4.", {"hard": False}) == Taken(1.0, graded=True)
    assert call(ASKED, "It is 4.", {"hard": True, "answer": "5"}) == Taken(None, graded=False)
    assert call(ASKED, "It is 4.", {"hard": "a text where a bool belongs"}) == Taken(None, graded=False)


@pytest.mark.parametrize("said", ["\ud800\0 {{ vars.x }} {% raise %}", "4" * 200_000])
def test_hostile_text_is_only_text(make: Any, write_rubric: WriteRubric, said: str) -> None:
    assert make(write_rubric(SAYS_FOUR))(ASKED, said, NO_ROW) == Taken(float("4" in said), graded=True)


def test_a_rubric_that_can_not_be_used_is_said_at_once(make: Any, write_rubric: WriteRubric) -> None:
    with pytest.raises(InputError, match="points"):
        make(write_rubric({"id": "x", "description": "no points", "judge": {}}))(ASKED, "4", NO_ROW)
