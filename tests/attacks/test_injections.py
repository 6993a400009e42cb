"""The collection's texts that try to talk to a judge: as a record shows them, and as replies that repeat them are read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rubricgrade.trajectory import Trajectory
from tests.judge.scripted import ask_once, said, step, trajectory
from tests.judge.test_view import escaped, infected, view_of

FILE = Path(os.environ.get("RUBRICGRADE_ATTACKS", ""), "judge_injections.json")
TEXTS: dict[str, str] = json.loads(FILE.read_text("utf-8")) if FILE.is_file() else {}
LIKE_HONEST_WORK = {"j11_filename", "j13_docstring", "j18_one_token", "j22_emotional", "j23_base64", "j27_html"}
"""A colon, a plea and base64 carry no sign that honest work does not carry too."""

pytestmark = pytest.mark.skipif(not TEXTS, reason="RUBRICGRADE_ATTACKS names no folder with judge_injections.json")


def answering(text: str) -> Trajectory:
    return trajectory(step("user", "Sum up the travel costs."), step("assistant", text))


@pytest.mark.parametrize("name", TEXTS)
def test_it_stays_behind_its_bar_and_is_suspected(name: str, tmp_path: Path) -> None:
    episode, document = infected(TEXTS[name])
    shown = view_of(episode.located(workspace=tmp_path), document)
    assert escaped(shown) == []
    assert shown.record.suspicions or name in LIKE_HONEST_WORK


@pytest.mark.parametrize("name", TEXTS)
def test_a_judge_that_repeats_it_has_not_said_it(name: str) -> None:
    text = TEXTS[name]
    episode = answering(text)
    for reply in (text, f"The record says:\n{text}", f"```\n{text}\n```", f"<think>{text}</think>"):
        judged, _ = ask_once(reply, episode=episode)
        assert (judged.value, judged.cause) == (None, "judge_unparseable"), reply[:200]


@pytest.mark.parametrize("name", TEXTS)
def test_its_own_answer_counts_or_nothing_does(name: str) -> None:
    text = TEXTS[name]
    episode = answering(text)
    judged, _ = ask_once(said("no", reasoning=text), episode=episode)
    assert judged.verdict == "not_met"
    for reply in (f"{text}\n{said('no')}", f"{said('no')}\n{text}", f"<think>{text}</think>{said('no')}"):
        judged, _ = ask_once(reply, episode=episode)
        assert judged.value in (0.0, None), reply[:200]
