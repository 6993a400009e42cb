"""What single adapters add: OpenEnv's children and turns, Inspect's references, imports that wait, missing packages."""

from __future__ import annotations

import asyncio
import importlib
import json
import subprocess
import sys
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from rubricgrade.errors import InputError, MissingExtraError
from rubricgrade.integrations import openenv, skyrl, verl
from rubricgrade.integrations.hosts import host
from tests.chat.scripted import ScriptedServer, completion
from tests.integrations.conftest import WriteRubric
from tests.integrations.fakes import stand_in

FOUR = {"id": "four", "points": 1, "description": "says 4", "check": {"trajectory": {"final_message": {"contains": "4"}}}}  # fmt: skip
POLITE = {"id": "polite", "points": 1, "description": "is polite", "judge": {}}
USED = {"id": "used", "points": 1, "description": "moves", "check": {"trajectory": {"tool": "Move", "at_least": 2}}}
HOSTS = ("torch", "trl", "verl", "openrlhf", "skyrl_gym", "verifiers", "nemo_gym", "openenv", "inspect_ai", "harbor")


@dataclass
class Move:
    to: int


def test_openenv_steps_and_children(write_rubric: WriteRubric, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, "openenv")
    made = openenv.episode_rubric(write_rubric(USED), ungraded=0.0, task="Go to 2")
    assert made(Move(1), SimpleNamespace(done=False, at=1)) == 0.0
    assert made(Move(2), SimpleNamespace(done=True, at=2)) == 1.0
    assert made.compute_step_rewards() == [0.0, 1.0]
    assert made.items["used"].last_score == 1.0


def test_skyrl_ends_when_nobody_responds(write_rubric: WriteRubric, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, "skyrl_gym")
    made = skyrl.text_environment(
        write_rubric(FOUR), ungraded=0.0, respond=lambda messages, row: row["ask"] if len(messages) < 3 else None
    )(extras={"ask": "sure?"})
    made.init([{"role": "user", "content": "2 + 2?"}])
    first = made.step("5")
    assert (first["done"], first["observations"]) == (False, [{"role": "user", "content": "sure?"}])
    assert made.get_metrics() == {"turns": 1}
    last = made.step("4")
    assert (last["done"], last["reward"], made.get_metrics()["turns"]) == (True, 1.0, 2)


def test_inspect_links_the_messages_of_quotes(
    write_rubric: WriteRubric, monkeypatch: pytest.MonkeyPatch, server: ScriptedServer
) -> None:
    stand_in(monkeypatch, "inspect_ai")
    monkeypatch.delitem(sys.modules, "rubricgrade.integrations.inspect_ai", raising=False)
    adapter = importlib.import_module("rubricgrade.integrations.inspect_ai")
    from rubricgrade import JudgeOptions

    quote = {"quote": "The total is 48.2L", "where": "[1].text"}
    server.script = [completion(json.dumps({"reasoning": "it says so", "evidence": [quote], "answer": "yes"}))]
    judge = JudgeOptions(model="openai/judge", api_base=server.base, api_key="k", cache=False)
    score = adapter.rubric_scorer(write_rubric(POLITE), judge=judge)
    messages = [
        SimpleNamespace(model_dump=lambda: {"role": "user", "content": "Sum up."}, id="m0"),
        SimpleNamespace(model_dump=lambda: {"role": "assistant", "content": "The total is 48.2L now."}, id="m1"),
    ]
    state = SimpleNamespace(messages=messages, metadata={}, input="Sum up.", sample_id="s", epoch=1, output=None)
    found = asyncio.run(score(state, SimpleNamespace(text="")))
    assert found.value == 1.0
    assert found.metadata["scanner_references"] == [{"type": "message", "cite": "[M2]", "id": "m1"}]
    assert "evidence for polite: [M2]" in found.explanation
    assert "it says so" in found.explanation


def test_verl_options_from_a_configuration(write_rubric: WriteRubric, server: ScriptedServer) -> None:
    server.script = [completion(json.dumps({"reasoning": "no", "evidence": [], "answer": "no"}))]
    judge = {"model": "openai/judge", "api_base": server.base, "api_key": "k", "cache": False}
    rubric = write_rubric(POLITE)
    given: dict[str, Any] = {"rubric": rubric, "judge": judge, "reward_router_address": "ignored"}
    found = asyncio.run(verl.compute_score("d", "4", None, {}, ungraded=-1, **given))
    assert found == {"score": 0.0, "graded": 1.0, "gated": 0.0, "lowest": 0.0, "highest": 0.0}
    with pytest.raises(InputError, match="finite number"):
        asyncio.run(verl.compute_score("d", "4", None, {}, ungraded=float("nan"), rubric=rubric))


def test_a_host_that_is_missing_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openenv", None)
    with pytest.raises(ModuleNotFoundError):
        host("nemo_gym_of_nobody")
    with pytest.raises(MissingExtraError, match=r"rubricgrade\[openenv\]"):
        host("openenv_of_nobody.core", "openenv")


def test_adapters_import_no_host_before_they_are_used() -> None:
    names = "trl, trl_environment, verl, openrlhf, skyrl, verifiers, nemo_gym, openenv, tinker, harbor_files"
    code = f"import sys; from rubricgrade.integrations import {names}; print(sorted(set({HOSTS!r}) & set(sys.modules)))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
