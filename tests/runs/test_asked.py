"""No run is begun whose agent or judge can't be asked, and none needs who is not asked any more."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rubricgrade import JudgeOptions, load_rubric, run_episode
from rubricgrade.episode.agents.choosing import choose_agent
from rubricgrade.episode.agents.proving import Nop
from rubricgrade.errors import InputError
from rubricgrade.runs.regrading import regrade
from tests.chat.scripted import ScriptedServer, completion
from tests.episode.making import write_task
from tests.runs.test_running import plan_of, run_all

UNASKABLE = r"set OPENAI_API_KEY|there is no file"
JUDGED = "id: judged\ncriteria:\n  - {id: polite, points: 1, description: is polite, judge: {}}\n"


@pytest.mark.parametrize("who", ["agent", "judge", "escalate", "rubric"])
def test_who_can_not_be_asked_is_said_before_anything_is_made(
    who: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    model = "openai/gpt-5-mini"
    rubric = JUDGED if who != "rubric" else f"{JUDGED}judge: {{model: {model}}}\n"
    task = write_task(tmp_path / "judged", {"tests/rubric.yaml": rubric})
    agent = choose_agent(f"litellm:{model}") if who == "agent" else Nop()
    chosen = {
        "judge": JudgeOptions(model=model),
        "escalate": JudgeOptions(model="openai/x", api_base="http://127.0.0.1:9/v1", escalate="local:/nowhere.gguf"),
    }
    plan = plan_of(task, tmp_path / "run", agent, judge=chosen.get(who, JudgeOptions()))
    with pytest.raises(InputError, match=UNASKABLE):
        run_all(plan)
    with pytest.raises(InputError, match=UNASKABLE):
        asyncio.run(run_episode(plan.tasks[0], agent, folder=tmp_path / "alone", judge=plan.judge))
    assert not (tmp_path / "run").exists()
    assert not (tmp_path / "alone").exists()


def test_a_run_with_nothing_left_to_do_needs_no_key(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = write_task(tmp_path / "answer")
    server.script = [completion("I give up.")]
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", server.base)
    plan = plan_of(task, tmp_path / "run", choose_agent("litellm:openai/scripted"))
    assert len(run_all(plan)) == 1
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY")
    assert run_all(plan) == []
    with pytest.raises(InputError, match="agent: openai/scripted: no API key"):
        run_all(replace(plan, samples=2))


def test_regrading_asks_nobody_who_has_answered_before(tmp_path: Path, server: ScriptedServer) -> None:
    task = write_task(tmp_path / "judged", {"tests/rubric.yaml": JUDGED})
    server.script = [completion('{"reasoning": "not at all", "evidence": [], "answer": "no"}')]
    judge = JudgeOptions(model="openai/x", api_base=server.base, cache=tmp_path / "cache.sqlite")
    assert len(run_all(plan_of(task, tmp_path / "run", Nop(), judge=judge))) == 1
    gone = replace(judge, escalate="local:/nowhere.gguf")

    async def again(**options: Any) -> list[float | None]:
        return [each.grade.score async for each in regrade(tmp_path / "run", **options)]

    asked = len(server.seen)
    assert asyncio.run(again(judge=gone)) == [0.0]
    (tmp_path / "other.yaml").write_text(JUDGED.replace("is polite", "is rude"))
    with pytest.raises(InputError, match=r"escalate: local:/nowhere\.gguf: there is no file"):
        asyncio.run(again(judge=gone, rubric=load_rubric(tmp_path / "other.yaml")))
    assert len(server.seen) == asked
