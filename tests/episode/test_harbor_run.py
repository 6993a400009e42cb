"""Exported tasks under the real `harbor run`, with nothing changed: `make test-hosts`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.episode.exporting import export_task
from rubricgrade.episode.task import Task
from tests.episode.making import EXAMPLES, write_task
from tests.integrations.hosts import ROOT
from tests.integrations.test_hosts import ENV, environment

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(900)]


def run_in_harbor(task: Path, agent: str, jobs: Path) -> dict[str, Any]:
    """One trial's rewards and the name of the error that Harbor recorded."""
    harbor = environment("engines").with_name("harbor")
    command = [
        str(harbor),
        "run",
        "-p",
        str(task),
        "-a",
        agent,
        "-o",
        str(jobs),
        "-y",
        "-e",
        "tests.episode.engineless:Engineless",
    ]
    done = subprocess.run(command, capture_output=True, text=True, env={**ENV, "PYTHONPATH": str(ROOT)}, check=False)
    (file,) = jobs.glob("*/*/result.json")
    result = json.loads(file.read_text())
    assert result["agent_info"]["name"] == agent, done.stdout[-2000:]
    return {
        "rewards": (result["verifier_result"] or {}).get("rewards"),
        "error": (result["exception_info"] or {}).get("exception_type"),
        "details": (file.parent / "verifier" / "reward-details.json").exists(),
    }


@pytest.mark.parametrize("name", ["calc", "sales-report", "add"])
def test_an_exported_task_runs_in_harbor_unchanged(tmp_path: Path, name: str) -> None:
    export_task(Task.load(EXAMPLES / name), tmp_path / name)
    rewards = {agent: run_in_harbor(tmp_path / name, agent, tmp_path / agent) for agent in ("oracle", "nop")}
    assert rewards["oracle"] == {"rewards": {"reward": 1.0}, "error": None, "details": True}
    assert rewards["nop"]["error"] is None
    assert rewards["nop"]["rewards"]["reward"] < 1


def test_what_nobody_can_judge_has_no_reward_in_harbor(tmp_path: Path) -> None:
    polite = {"id": "polite", "description": "is polite", "points": 1, "judge": {}}
    export_task(
        Task.load(write_task(tmp_path / "task", rubric={"id": "r", "criteria": [polite]})), tmp_path / "exported"
    )
    found = run_in_harbor(tmp_path / "exported", "oracle", tmp_path / "jobs")
    assert found == {"rewards": None, "error": "RewardFileNotFoundError", "details": True}
