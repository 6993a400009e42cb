"""OpenEnv: an environment whose rubric grades the episode, behind its real HTTP server. Needs openenv.

Run: ``python examples/hosts/openenv_environment.py``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State

from rubricgrade.integrations.openenv import episode_rubric

HERE = Path(__file__).resolve().parent
TASK = "What is 2 + 2?"


class Say(Action):
    text: str


class Heard(Observation):
    text: str = ""


def turn(action: Say, _observation: Heard) -> list[dict[str, Any]]:
    return [{"role": "assistant", "content": action.text}]


class Sums(Environment):
    def __init__(self, rubric: str = "rubric.yaml") -> None:
        made = episode_rubric(HERE / rubric, ungraded=0.0, task=TASK, row={"answer": "4"}, turn=turn)
        super().__init__(rubric=made)
        self._state = State()

    def reset(self, *_given: Any, **_named: Any) -> Heard:
        self._reset_rubric()
        return Heard(text=TASK)

    def step(self, action: Say, *_given: Any, **_named: Any) -> Heard:
        heard = Heard(text="thank you", done=True)
        heard.reward = self._apply_rubric(action, heard)
        return heard

    @property
    def state(self) -> State:
        return self._state


def main() -> None:
    found: list[Any] = []
    for text, rubric in (("It is 4.", "rubric.yaml"), ("It is 5.", "rubric.yaml"), ("It is 4.", "judged.rubric.yaml")):
        environment = Sums(rubric)
        environment.reset()
        reward = environment.step(Say(text=text)).reward
        items = {name: one.last_score for name, one in environment.rubric.named_rubrics() if "." in name}
        found.append([reward, environment.rubric.rewarded.facts()["graded"], items])
    with TestClient(create_fastapi_app(Sums, Say, Heard)) as client:
        served = client.post("/step", json={"action": {"text": "It is 4."}}).json()
    print(json.dumps({"host": "openenv", "episodes": found, "served": served["reward"]}))


if __name__ == "__main__":
    main()
