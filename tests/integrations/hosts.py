"""The hosts that `make test-hosts` runs: what is installed for each, and what its examples must print."""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.executable).with_name("rubricgrade")
"""Installed with the extra `server`; the host asks it over HTTP."""
OURS = ("--editable", str(ROOT))
TORCH = "torch==2.13.0"
TESTING = ("pytest>=8.3", "pytest-timeout>=2.3")
RIGHT_WRONG_UNGRADED = [[1.0, 1.0], [0.25, 1.0], [0.0, 0.0]]
"""Rewards and ``graded`` flags that most hosts get: 4 of 4 points, 1 of 4, and no judge for one."""

MASKED = [[1.0, False, None], [0.25, False, None], [0.0, True, "rubricgrade:no_judge"]]
"""What NeMo Gym gets of the same: reward, mask and kind of failure."""


@dataclass(frozen=True)
class Environment:
    """One that is made for hosts that can live together.

    Attributes:
        python: Minor version of the Python 3 that it needs.
        installs: Arguments of pip, one call each.
    """

    python: int
    installs: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Host:
    """A host in its environment.

    Attributes:
        environment: Its name.
        scripts: Commands below examples/hosts, with what their last line must hold.
        plugs: Names in `plugs.PLUGS` that are tried on the real host.
    """

    environment: str
    scripts: dict[str, dict[str, Any]]
    plugs: tuple[str, ...] = ()


def _without_litellm() -> tuple[str, ...]:
    """What this package needs, but for the library that pins what NeMo Gym pins otherwise. The built-in route is left."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return tuple(name for name in project["dependencies"] if not name.startswith("litellm"))


ENVIRONMENTS: dict[str, Environment] = {
    # verl and OpenRLHF ask for an inference engine and a GPU build of torch, which their reward managers do not use.
    "training": Environment(
        11,
        (
            (TORCH,),
            (*OURS, TORCH, "trl==1.16.0", "tinker-cookbook", "ray", "transformers<5.11", "tensordict<=0.10.0",
             "torchdata", "peft", "omegaconf", "hydra-core", "codetiming", "pylatexenc", "dill", "cachetools", "orjson",
             *TESTING),
            ("--no-deps", "verl==0.9.1", "openrlhf==0.11.2"),
        ),
    ),
    "engines": Environment(12, ((*OURS, "inspect-ai==0.3.285", "harbor==0.26.0", "skyrl-gym==0.4.0", *TESTING),)),
    "verifiers": Environment(12, ((*OURS, "verifiers==0.4.0", *TESTING),)),
    "openenv": Environment(12, ((*OURS, "openenv==0.10.0", *TESTING),)),
    "nemo-gym": Environment(12, (("nemo-gym==0.4.0", *TESTING), ("--no-deps", *OURS), _without_litellm())),
}  # fmt: skip


HOSTS: dict[str, Host] = {
    "trl": Host(
        "training",
        {
            "trl_grpo.py sync": {"host": "trl", "kind": "sync"},
            "trl_grpo.py async": {"host": "trl", "kind": "async"},
            "trl_shell.py": {"calls": 1.0, "reward": 0.5},
        },
        ("trl", "trl-async"),
    ),
    "verl": Host(
        "training",
        {"verl_reward.py": {"rewards": [[1.0, 1.0], [0.25, 1.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]}},
        ("verl",),
    ),
    "openrlhf": Host(
        "training",
        {
            "openrlhf_run.py": {"file": RIGHT_WRONG_UNGRADED, "server": RIGHT_WRONG_UNGRADED},
            f"openrlhf_server.py {PROGRAM}": {"served": RIGHT_WRONG_UNGRADED},
        },
        ("openrlhf-file", "openrlhf-server"),
    ),
    "tinker": Host(
        "training",
        {"tinker_reward.py": {"episodes": [[1.0, True, 1.0], [0.25, True, 1.0], [0.0, True, 0.0]]}},
        ("tinker",),
    ),
    "skyrl": Host(
        "engines",
        {
            "skyrl_environment.py": {
                "episodes": [[False, True, 1.0, 1.0], [False, True, 0.25, 1.0], [False, True, 0.0, 0.0]]
            }
        },
        ("skyrl",),
    ),
    "inspect": Host(
        "engines",
        {
            "inspect_eval.py": {
                "status": "success",
                "scores": [[1.0, 1.0], [0.25, 1.0], ["scoring_failed", 0.0]],
                "again": [[1.0, 1.0], [0.25, 1.0], ["scoring_failed", 0.0]],
                "mean": 0.625,
                "unscored": 1,
            }
        },
        ("inspect",),
    ),
    "harbor": Host(
        "engines",
        {
            "harbor_run.py": {
                "oracle": {"rewards": {"reward": 1.0}, "error": None, "details": True},
                "nop": {"rewards": {"reward": 0.0}, "error": None, "details": True},
                "ungraded": {"rewards": None, "error": "RewardFileNotFoundError", "details": True},
            }
        },
    ),
    "verifiers": Host(
        "verifiers",
        {"verifiers_task.py": {"rewards": [[1.0, 0.5, 1.0], [0.25, 0.125, 1.0], [None, 0, 0.0]]}},
        ("verifiers",),
    ),
    "openenv": Host(
        "openenv",
        {
            "openenv_environment.py": {
                "episodes": [
                    [1.0, 1.0, {"items.right": 1.0, "items.brief": 1.0}],
                    [0.25, 1.0, {"items.right": 0.0, "items.brief": 1.0}],
                    [0.0, 0.0, {"items.right": 1.0, "items.polite": None}],
                ],
                "served": 1.0,
            }
        },
        ("openenv",),
    ),
    "nemo-gym": Host(
        "nemo-gym",
        {
            "nemo_gym_server.py": {"answers": MASKED},
            f"nemo_gym_client.py {PROGRAM}": {"served": MASKED},
        },
        ("nemo-gym",),
    ),
}
