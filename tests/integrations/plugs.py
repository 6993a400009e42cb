"""Every host's adapter behind one call, as its host calls it: an episode in, what the host would take out."""

from __future__ import annotations

import asyncio
import importlib
import json
import math
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from rubricgrade.integrations import nemo_gym, openrlhf, tinker, trl, verifiers, verl
from rubricgrade.integrations.openenv import episode_rubric
from rubricgrade.integrations.rewarding import Rewarder
from rubricgrade.integrations.skyrl import text_environment
from tests.integrations.fakes import stand_in

T = TypeVar("T")
INSTEAD = -7.0
"""What hosts that know no "no score" are told to take for it here."""


@dataclass(frozen=True)
class Taken:
    """What a host takes: a number, or None for its own "no score"; and whether a flag beside it says so."""

    reward: float | None
    graded: bool


Call = Callable[[Any, Any, Mapping[str, Any]], Taken]
Plug = Callable[..., Call]


def _flagged(reward: float, facts: Mapping[str, Any]) -> Taken:
    return Taken(None if reward == INSTEAD else reward, bool(facts["graded"]))


def waited(work: Awaitable[T]) -> T:
    """What comes of it, in an event loop of its own."""

    async def wait() -> T:
        return await work

    return asyncio.run(wait())


def _text(said: Any) -> str:
    return said if isinstance(said, str) else said[-1]["content"]


def _messages(said: Any) -> list[dict[str, Any]]:
    return [{"role": "assistant", "content": said}] if isinstance(said, str) else said


def trl_sync(rubric: Any, **options: Any) -> Call:
    function = trl.reward_function(rubric, **options)

    def call(prompt: Any, said: Any, row: Mapping[str, Any]) -> Taken:
        logged: dict[str, float] = {}
        columns = {name: [value] for name, value in row.items()}
        (reward,) = function(
            prompts=[prompt], completions=[said], completion_ids=[[1]], trainer_state=object(),
            log_extra=lambda _name, _values: None, log_metric=logged.__setitem__, **columns,
        )  # fmt: skip
        return Taken(reward, bool(logged["rubricgrade/graded"]))

    return call


def trl_async(rubric: Any, **options: Any) -> Call:
    function = trl.async_reward_function(rubric, **options)

    def call(prompt: Any, said: Any, row: Mapping[str, Any]) -> Taken:
        (reward,) = asyncio.run(function(prompts=[prompt], completions=[said], **{k: [v] for k, v in row.items()}))
        return Taken(reward, reward is not None)

    return call


def verl_plug(rubric: Any, **options: Any) -> Call:
    def call(prompt: Any, said: Any, row: Mapping[str, Any]) -> Taken:
        extra = {**row, "prompt": prompt}
        if not isinstance(said, str):
            extra["messages"] = [*(prompt if isinstance(prompt, list) else []), *said]
        found = asyncio.run(
            verl.compute_score("d", _text(said), None, extra, rubric=rubric, ungraded=INSTEAD, **options)
        )
        assert list(found) == ["score", "graded", "gated", "lowest", "highest"]
        return _flagged(found["score"], found)

    return call


def openrlhf_file(rubric: Any, **options: Any) -> Call:
    function = openrlhf.reward_function(rubric, ungraded=INSTEAD, **options)

    def call(prompt: Any, said: Any, row: Mapping[str, Any]) -> Taken:
        prompt = prompt if isinstance(prompt, str) else prompt[-1]["content"]
        found = function([prompt + _text(said)], [prompt], [json.dumps(row)])
        return _flagged(found["rewards"].tolist()[0], {"graded": found["extra_logs"]["graded"].tolist()[0]})

    return call


def openrlhf_server(rubric: Any, **options: Any) -> Call:
    rewarder = Rewarder(rubric, **options)

    def call(prompt: Any, said: Any, row: Mapping[str, Any]) -> Taken:
        prompt = prompt if isinstance(prompt, str) else prompt[-1]["content"]
        body = {"query": [prompt + _text(said)], "prompts": [prompt], "labels": [json.dumps(row)]}
        found = asyncio.run(openrlhf.answer(rewarder, body, ungraded=INSTEAD))
        return _flagged(found["rewards"][0], {"graded": found["extra_logs"]["graded"][0]})

    return call


def skyrl_plug(rubric: Any, **options: Any) -> Call:
    made = text_environment(rubric, ungraded=INSTEAD, **options)

    def call(prompt: Any, said: Any, row: Mapping[str, Any]) -> Taken:
        environment = made(None, extras=row)
        environment.init([{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt)
        step = environment.step(_text(said))
        assert step["done"] is True
        assert environment.get_metrics()["graded"] == step["metadata"]["graded"]
        return _flagged(step["reward"], step["metadata"])

    return call


def tinker_plug(rubric: Any, **options: Any) -> Call:
    def call(prompt: Any, said: Any, row: Mapping[str, Any]) -> Taken:
        asked = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
        function = tinker.reward_function(rubric, ungraded=INSTEAD, row=row, **options)
        return _flagged(*waited(function([*asked, *_messages(said)])))

    return call


def verifiers_plug(rubric: Any, **options: Any) -> Call:
    method = verifiers.reward(rubric, weight=0.5, **options)

    def call(prompt: Any, said: Any, row: Mapping[str, Any]) -> Taken:
        asked = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
        said_all = [*asked, *_messages(said)]
        nodes = [{"parent": index - 1 if index else None, "message": one} for index, one in enumerate(said_all)]
        metrics: dict[str, float] = {}
        trace = SimpleNamespace(
            info={}, record_metrics=metrics.update, model_dump=lambda **_given: {"id": "t", "nodes": nodes}
        )
        task = SimpleNamespace(data=SimpleNamespace(model_dump=lambda: dict(row)))
        try:
            reward = waited(method(task, trace))
        except verifiers.Ungraded:
            reward = None
        return Taken(reward, bool(metrics["rubricgrade_graded"]))

    return call


def verifiers_classic(rubric: Any, **options: Any) -> Call:
    function = verifiers.classic_reward(rubric, ungraded=INSTEAD, **options)

    def call(prompt: Any, said: Any, row: Mapping[str, Any]) -> Taken:
        state: dict[str, Any] = {}
        given = {"prompt": prompt, "completion": _messages(said), "answer": "", "state": state, "info": row}
        reward = waited(function(**given))
        return _flagged(reward, state["rubricgrade"])

    return call


def nemo_gym_plug(rubric: Any, **options: Any) -> Call:
    server = nemo_gym.rubric_server(rubric, **options)

    def call(prompt: Any, said: Any, row: Mapping[str, Any]) -> Taken:
        asked = prompt if isinstance(prompt, str) else [{**one, "type": "message"} for one in prompt]
        content = [{"type": "output_text", "text": _text(said), "annotations": []}]
        output = [{"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": content}]
        body = {
            **row,
            "responses_create_params": {"input": asked},
            "response": {
                "id": "r", "object": "response", "created_at": 0, "model": "m", "output": output,
                "parallel_tool_calls": False, "tool_choice": "auto", "tools": [],
            },
        }  # fmt: skip
        request = server.verify.__annotations__["body"].model_validate(body)
        found = asyncio.run(server.verify(None, request)).model_dump()
        return Taken(None if found["mask_sample"] else found["reward"], found["failure_kind"] is None)

    return call


def openenv_plug(rubric: Any, **options: Any) -> Call:
    def call(prompt: Any, said: Any, row: Mapping[str, Any]) -> Taken:
        task = prompt if isinstance(prompt, str) else prompt[-1]["content"]
        made = episode_rubric(
            rubric, ungraded=INSTEAD, task=task, row=row, turn=lambda action, _seen: _messages(action), **options
        )
        reward = made(said, SimpleNamespace(done=True))
        return _flagged(reward, made.rewarded.facts())

    return call


def inspect_plug(rubric: Any, **options: Any) -> Call:
    sys.modules.pop("rubricgrade.integrations.inspect_ai", None)
    scorer = importlib.import_module("rubricgrade.integrations.inspect_ai").rubric_scorer(rubric, **options)

    def call(prompt: Any, said: Any, row: Mapping[str, Any]) -> Taken:
        asked = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
        state = SimpleNamespace(
            messages=[*asked, *_messages(said)], metadata=dict(row), input=prompt, sample_id=1, epoch=1,
            output=SimpleNamespace(completion=_text(said)),
        )  # fmt: skip
        score = asyncio.run(scorer(state, SimpleNamespace(text="t")))
        unscored = math.isnan(score.value)
        assert unscored == (score.reason is not None)
        return Taken(None if unscored else score.value, bool(score.metadata["rubricgrade"]["graded"]))

    return call


PLUGS: dict[str, tuple[Plug, str | None]] = {
    "trl": (trl_sync, None),
    "trl-async": (trl_async, None),
    "verl": (verl_plug, None),
    "openrlhf-file": (openrlhf_file, "torch"),
    "openrlhf-server": (openrlhf_server, None),
    "skyrl": (skyrl_plug, "skyrl_gym"),
    "tinker": (tinker_plug, None),
    "verifiers": (verifiers_plug, "verifiers"),
    "verifiers-classic": (verifiers_classic, None),
    "nemo-gym": (nemo_gym_plug, "nemo_gym"),
    "openenv": (openenv_plug, "openenv"),
    "inspect": (inspect_plug, "inspect_ai"),
}
"""By host: its plug, and the package that it builds on, if it imports any."""


def plug(name: str, monkeypatch: pytest.MonkeyPatch) -> Plug:
    """A host's plug, on the real host or its stand-in."""
    made, package = PLUGS[name]
    if package is not None:
        stand_in(monkeypatch, package)
    return made
