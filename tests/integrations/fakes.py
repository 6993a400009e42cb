"""Stand-ins for hosts that are not installed: what their own documentation says of the classes that adapters build on.

Where a host is installed (`make test-hosts`), the real one is used instead.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict


class Tensor(list[Any]):
    def tolist(self) -> list[Any]:
        return list(self)


def torch() -> dict[str, Any]:
    return {"torch": {"tensor": Tensor}}


@dataclass
class Score:
    value: Any
    answer: Any = None
    explanation: str | None = None
    reason: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def unscored(cls, **given: Any) -> Score:
        return cls(math.nan, **given)


def inspect_ai() -> dict[str, Any]:
    def scorer(**_given: Any) -> Any:
        return lambda function: function

    return {"inspect_ai.scorer": {"scorer": scorer, "mean": dict, "stderr": dict, "Score": Score}}


def verifiers() -> dict[str, Any]:
    def reward(function: Any, weight: float = 1.0) -> Any:
        function.reward, function._vf_weight = True, weight
        return function

    return {"verifiers.v1": {"reward": reward}}


def skyrl() -> dict[str, Any]:
    class BaseTextEnv:
        def __init__(self) -> None:
            self.turns = 0

    return {"skyrl_gym.envs.base_text_env": {"BaseTextEnv": BaseTextEnv}}


def openenv() -> dict[str, Any]:
    class Rubric:
        def __init__(self) -> None:
            self.last_score: float | None = None

        def __call__(self, action: Any, observation: Any) -> float:
            self.last_score = self.forward(action, observation)
            return self.last_score

        def forward(self, action: Any, observation: Any) -> float:
            raise NotImplementedError

    class TrajectoryRubric(Rubric):
        def __init__(self) -> None:
            super().__init__()
            self._trajectory: list[Any] = []

        def forward(self, action: Any, observation: Any) -> float:
            self._trajectory.append((action, observation))
            return self.score_trajectory(self._trajectory) if observation.done else 0.0

        def score_trajectory(self, trajectory: list[Any]) -> float:
            raise NotImplementedError

    class RubricDict(dict[str, Any]):
        pass

    return {"openenv.core.rubrics": {"Rubric": Rubric, "TrajectoryRubric": TrajectoryRubric, "RubricDict": RubricDict}}


def nemo_gym() -> dict[str, Any]:
    class BaseVerifyRequest(BaseModel):
        model_config = ConfigDict(extra="allow")

    class BaseVerifyResponse(BaseVerifyRequest):
        reward: float

    return {
        "nemo_gym.base_resources_server": {
            "BaseVerifyRequest": BaseVerifyRequest,
            "BaseVerifyResponse": BaseVerifyResponse,
            "SimpleResourcesServer": object,
        }
    }


def harbor() -> dict[str, Any]:
    class BaseVerifier:
        def __init__(self, *, task: Any, trial_paths: Any, environment: Any, **_given: Any) -> None:
            self.task, self.trial_paths, self.environment = task, trial_paths, environment

    class RewardFileNotFoundError(FileNotFoundError):
        pass

    return {
        "harbor.verifier.base": {"BaseVerifier": BaseVerifier},
        "harbor.models.verifier.result": {"VerifierResult": SimpleNamespace},
        "harbor.verifier.verifier": {"RewardFileNotFoundError": RewardFileNotFoundError},
    }


FAKES = {
    "torch": torch,
    "inspect_ai": inspect_ai,
    "verifiers": verifiers,
    "skyrl_gym": skyrl,
    "openenv": openenv,
    "nemo_gym": nemo_gym,
    "harbor": harbor,
}


def stand_in(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Put a fake where a host's package would be, unless the package is here."""
    if importlib.util.find_spec(package) is not None:
        return
    for name, content in FAKES[package]().items():
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            part = ".".join(parts[:end])
            if part not in sys.modules:
                monkeypatch.setitem(sys.modules, part, ModuleType(part))
        for key, value in content.items():
            monkeypatch.setattr(sys.modules[name], key, value, raising=False)
