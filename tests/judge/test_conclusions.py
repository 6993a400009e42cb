"""What was concluded from cached votes is taken over as it was, and only where it would be concluded again."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.evidence import Document
from rubricgrade.judge import Judged, memory
from rubricgrade.result import Usage
from rubricgrade.rubric import Rubric
from rubricgrade.store.verdicts import VerdictCache
from tests.judge.scripted import EPISODE, ask_once, rubric, said, step, trajectory

QUOTE = "The total is 48.2L."
YES, NO, DOUBT = said("yes", QUOTE), said("no"), said("cannot_tell")
FILES = {"judge": {"artifacts": ["*.md"]}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "v.sqlite"


def mark(file: Path) -> int:
    """Make every conclusion that is kept one that can be told from one that is drawn now; how many there are."""
    with sqlite3.connect(file) as connection:
        return connection.execute("UPDATE conclusions SET line = replace(line, 'because', 'as before')").rowcount


def again(file: Path, **change: Any) -> Judged:
    """The verdict of a second run, which asks nobody."""
    judged, chat = ask_once(NO, cache=VerdictCache(file), **change)
    assert chat.asked == []
    return judged


def test_it_is_the_same_but_that_nobody_was_asked(file: Path) -> None:
    first, _ = ask_once([YES, NO, YES], votes=3, cache=VerdictCache(file))
    judged = again(file, votes=3)
    assert (judged.verdict, judged.value, judged.reasoning, judged.evidence) == (
        (first.verdict, first.value, first.reasoning, first.evidence)
    )
    assert (judged.record.shown, judged.record.prompt) == (first.record.shown, first.record.prompt)
    assert [(vote.answer, vote.cached) for vote in judged.record.votes] == [("yes", True), ("no", True), ("yes", True)]
    assert judged.record.usage == Usage()


def test_it_is_taken_over(file: Path) -> None:
    ask_once(YES, cache=VerdictCache(file))
    assert mark(file) == 1
    assert again(file).reasoning == "as before"


@pytest.mark.parametrize(
    "change",
    [
        {"judged": rubric(FILES), "documents": (Document("a.md", "other text", digest="sha256:1"),)},
        {"judged": rubric(FILES), "documents": (Document("a.md", "text", digest="sha256:1", complete=False),)},
        {"judged": rubric(FILES), "documents": (Document("a.md", "text", "read in another way", "sha256:1"),)},
        {"judged": rubric(FILES), "documents": ()},
        {"judged": rubric(FILES), "max_characters": 50_000},
        {"judged": rubric(FILES), "strict_evidence": True},
        {"judged": rubric(FILES), "unverified": "flag"},
        {"judged": rubric(FILES), "votes": 2},
        {"judged": rubric(FILES), "model": "m,n"},
        {"judged": rubric(FILES), "episode": trajectory(*EPISODE, step("user", "thanks"))},
    ],
)
def test_it_holds_in_no_other_circumstances(change: dict[str, Any], file: Path) -> None:
    text = (Document("a.md", "text", digest="sha256:1"),)
    ask_once(YES, cache=VerdictCache(file), judged=rubric(FILES), documents=text)
    assert mark(file) == 1
    options: dict[str, Any] = {"documents": text, **change}
    judged, _ = ask_once(YES, cache=VerdictCache(file), **options)
    assert judged.reasoning == "because"


def test_it_does_not_outlive_the_code_that_drew_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask_once(YES, cache=VerdictCache(file))
    mark(file)
    monkeypatch.setattr(memory, "source_hash", lambda: "sha256:another")
    assert again(file).reasoning == "because"


def test_what_an_answer_is_worth_is_not_taken_over(file: Path) -> None:
    def scaled(worth: float) -> Rubric:
        choices = {"poor": 0.0, "fair": worth, "good": 1.0}
        scale = [{"choice": choice, "value": value} for choice, value in choices.items()]
        return rubric({"judge": {"scale": scale}})

    ask_once(said("fair", QUOTE), cache=VerdictCache(file), judged=scaled(0.4))
    assert again(file, judged=scaled(0.2)).value == 0.2


@pytest.mark.parametrize("reply", [DOUBT, said("yes", "no such words"), "prose"])
def test_nothing_is_kept_of_what_is_open(reply: str, file: Path) -> None:
    ask_once(reply, cache=VerdictCache(file))
    assert mark(file) == 0


def test_what_is_damaged_is_drawn_again(file: Path) -> None:
    ask_once(YES, cache=VerdictCache(file))
    with sqlite3.connect(file) as connection:
        connection.execute('UPDATE conclusions SET line = \'{"verdict": "met", "value": 1.0}\'')
    assert again(file).reasoning == "because"


def test_it_goes_with_the_cache(file: Path) -> None:
    ask_once(YES, cache=VerdictCache(file))
    VerdictCache(file).clear()
    assert mark(file) == 0


@pytest.mark.parametrize(
    "damage",
    [
        {"value": 0.0},
        {"value": 2.0},
        {"value": None},
        {"verdict": "not_met"},
        {"cause": "judge_failed"},
    ],
)
def test_what_the_question_can_not_have_is_drawn_again(damage: dict[str, Any], file: Path) -> None:
    ask_once(YES, cache=VerdictCache(file))
    with sqlite3.connect(file) as connection:
        (line,) = connection.execute("SELECT line FROM conclusions").fetchone()
        connection.execute("UPDATE conclusions SET line = ?", [json.dumps({**json.loads(line), **damage})])
    mark(file)
    judged = again(file)
    assert (judged.verdict, judged.value, judged.cause, judged.reasoning) == ("met", 1.0, None, "because")


def test_a_denial_from_a_variable_is_one(file: Path) -> None:
    """Nothing may be concluded for the one wording that the rules of the other would not have concluded."""
    said_yes = said("yes", QUOTE)
    plain = rubric({"description": "the files hold no figure without a source", "judge": {"artifacts": ["*.md"]}})
    filled = rubric(
        {"description": "{{ vars.claim }}", "judge": {"artifacts": ["*.md"]}},
        vars={"claim": "the files hold no figure without a source"},
    )
    for one in (plain, filled):
        for cache in (None, VerdictCache(file)):
            judged, _ = ask_once(said_yes, judged=one, cache=cache)
            assert (judged.value, judged.cause) == (None, "judge_failed")


def test_another_server_in_the_environment_is_another_judge(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for base, reply, verdict in (("http://a.test/v1", YES, "met"), ("http://b.test/v1", NO, "not_met")):
        monkeypatch.setenv("OPENAI_BASE_URL", base)
        judged, chat = ask_once(reply, cache=VerdictCache(file), model="openai/m")
        assert (judged.verdict, len(chat.asked)) == (verdict, 1)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://a.test/v1/")
    assert again(file, model="openai/m").verdict == "met"
