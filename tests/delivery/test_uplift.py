"""Uplift: the same runs differ by nothing, better ones by what they are better by, and few tasks say nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rubricgrade.cli.app import app
from rubricgrade.delivery.uplift import paired_interval, uplift
from rubricgrade.errors import InputError


def after(run: Path, to: Path, reward: dict[int, float]) -> Path:
    """The run as if its attempts had earned other rewards."""
    shutil.copytree(run, to)
    for file in to.glob("*/*/grades/*.json"):
        grade = json.loads(file.read_bytes())
        score = reward.get(int(file.parts[-3]), grade["score"])
        file.write_text(json.dumps({**grade, "score": score, "bounds": [score, score]}))
    return to


def test_a_run_against_itself_shows_no_difference(played: Path) -> None:
    overall = uplift(played, played).rows[-1]
    assert overall.tasks == 12
    assert overall.difference == 0
    assert overall.interval == (0, 0)
    assert overall.verdict == "no difference seen"


def test_a_better_run_is_better_by_what_its_tasks_are_better_by(played: Path, tmp_path: Path) -> None:
    better = after(played, tmp_path / "better", {1: 1.0})
    made = uplift(played, better)
    lines = [json.loads(line) for line in (played / "trajectories.jsonl").read_text().splitlines()]
    gains = [(1 - line["reward"]) / 2 for line in lines if line["sample"] == 1]
    overall = made.rows[-1]
    assert overall.difference == pytest.approx(sum(gains) / 12)
    assert overall.interval is not None
    assert overall.interval[0] > 0
    assert overall.verdict == "better"
    assert uplift(better, played).rows[-1].verdict == "worse"
    assert {row.verdict for row in made.rows[:-1]} == {"too few tasks"}


def test_only_the_wanted_tasks_are_compared_and_the_rest_is_told(played: Path) -> None:
    made = uplift(played, played, ["clamp-1", "elsewhere"])
    assert made.rows[-1].tasks == 1
    assert made.rows[-1].interval is None
    assert made.missing == ("elsewhere",)


def test_a_task_that_changed_is_not_compared(played: Path, tmp_path: Path) -> None:
    other = after(played, tmp_path / "other", {})
    manifest = json.loads((other / "run.json").read_text())
    manifest["tasks"]["clamp-1"]["hash"] = "sha256:" + "0" * 64
    (other / "run.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="clamp-1 is another one"):
        uplift(played, other)


def test_the_interval_keeps_pairs_together() -> None:
    assert paired_interval([0.25] * 20) == (0.25, 0.25)
    assert paired_interval([0.5]) is None
    low, high = paired_interval([0.0, 1.0] * 20) or (0, 0)
    assert 0.3 < low < 0.4
    assert 0.6 < high < 0.7


def test_from_the_command_line(played: Path) -> None:
    done = CliRunner().invoke(app, ["uplift", str(played), str(played)])
    assert done.exit_code == 0
    assert "no difference seen" in done.output
