"""SkyRL: an environment of its registry, of two turns. Needs skyrl-gym.

Run: ``python examples/hosts/skyrl_environment.py``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import skyrl_gym

from rubricgrade.integrations.skyrl import text_environment

HERE = Path(__file__).resolve().parent


def ask_once(messages: list[dict[str, Any]], _row: Mapping[str, Any]) -> str | None:
    """Ask for a check after the first answer, then stop."""
    return "Are you sure?" if len(messages) == 2 else None


class Sums(text_environment(lambda row: HERE / row["rubric"], ungraded=0.0, respond=ask_once)):
    """The one that is registered."""


def main() -> None:
    skyrl_gym.register(id="sums", entry_point=Sums)
    found: list[Any] = []
    for final, rubric in (
        ("Yes: 4.", "rubric.yaml"),
        ("No, it is 5.", "rubric.yaml"),
        ("Yes: 4.", "judged.rubric.yaml"),
    ):
        environment = skyrl_gym.make("sums", env_config=None, extras={"answer": "4", "rubric": rubric})
        environment.init([{"role": "user", "content": "What is 2 + 2?"}])
        first = environment.step("It is 4.")
        last = environment.step(final)
        found.append([first["done"], last["done"], last["reward"], environment.get_metrics()["graded"]])
    print(json.dumps({"host": "skyrl", "episodes": found}))


if __name__ == "__main__":
    main()
