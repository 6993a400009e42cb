"""What was found about an earlier version of a task is told, and counted nowhere."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rubricgrade.cli.app import app
from rubricgrade.delivery.making import deliver
from rubricgrade.delivery.proofs import Tried, proofs_of
from rubricgrade.delivery.records import Proof, Removed, Report
from rubricgrade.episode.task import Task
from tests.delivery.conftest import World


def redteam(task: str, version: str, *, hackable: bool = False, open_items: tuple[str, ...] = ()) -> dict[str, Any]:
    attack = {"attack": "bluff", "title": "says that all is done", "outcome": "earned" if hackable else "held"}
    return {
        "task": task,
        "hash": version,
        "nothing": 0,
        "reference": 1,
        "margin": 0.05,
        "hackable": hackable,
        "open_items": open_items,
        "attacks": [attack | {"reward": 0.8 if hackable else 0}],
    }


def quality(task: str, version: str, *doubts: str) -> dict[str, Any]:
    found = [{"kind": kind, "what": "so it is", "remedy": "mend it"} for kind in doubts]
    return {"task": task, "hash": version, "repeats": 3, "doubts": found}


def written(file: Path, *reports: dict[str, Any]) -> str:
    file.write_text(json.dumps({"tasks": reports}))
    return str(file)


def report_of(folder: Path) -> Report:
    return Report.model_validate_json((folder / "report.json").read_bytes())


def test_a_stale_report_is_said_and_not_counted(world: World, tmp_path: Path) -> None:
    one, two, three, four, *others = world.tasks
    attacks = written(
        tmp_path / "attacks.json",
        redteam(one.id, one.hash, hackable=True),
        redteam(two.id, "sha256:before", hackable=True),
        redteam(three.id, "sha256:before"),
        redteam(four.id, four.hash, open_items=("tone",)),
    )
    doubts = written(tmp_path / "doubts.json", quality(two.id, "sha256:before", "flaky"), quality(three.id, three.hash))
    out = tmp_path / "out"
    folders = [str(task.folder) for task in world.tasks]
    made = CliRunner().invoke(app, ["deliver", *folders, "--redteam", attacks, "--quality", doubts, "--out", str(out)])
    assert made.exit_code == 0, made.output
    report = report_of(out)
    assert [(each.task, each.reason) for each in report.removed] == [(one.id, "hackable")]
    rest = sorted(task.id for task in others)
    assert report.proofs == (
        Proof(kind="redteam", holds=0, open=(four.id,), stale=(two.id, three.id), untried=tuple(rest)),
        Proof(kind="quality", holds=1, stale=(two.id,), untried=tuple(sorted([four.id, *rest]))),
    )
    assert f"attacked by the red team, which is not counted therefore: {two.id}, {three.id}" in made.stderr
    assert f"examined for quality, which is not counted therefore: {two.id}" in made.stderr
    text = (out / "report.md").read_text()
    assert f"| attacked by the red team | 0 | 1: {four.id} | 2: {two.id}, {three.id} |" in text


def test_a_run_of_an_earlier_version_is_in_no_figure(world: World, played: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(world.tasks[0].folder, tmp_path / world.tasks[0].folder.name))
    (folder / "instruction.md").write_text((folder / "instruction.md").read_text() + "\nBe quick.\n")
    changed = Task.load(folder)
    deliver([changed, world.tasks[1]], tmp_path / "out", run=played)
    report = report_of(tmp_path / "out")
    attempts = next(each for each in report.proofs if each.kind == "attempts")
    assert (attempts.holds, attempts.stale) == (1, (changed.id,))
    (overall,) = [row for row in report.parts["train"].baseline if row.name == "overall"]
    assert overall.rollouts == 2


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_reports_the_one_on_this_version_counts(order: tuple[int, int]) -> None:
    against = Removed(task="t", reason="hackable", why="it is")
    both = (Tried("t", "old", "redteam", against), Tried("t", "new", "redteam"))
    (proof,) = proofs_of({"t": "new"}, [both[place] for place in order])
    assert proof == Proof(kind="redteam", holds=1)


def test_without_run_and_reports_the_report_says_that_nothing_was_tried(world: World, tmp_path: Path) -> None:
    deliver(world.tasks, tmp_path / "out")
    assert report_of(tmp_path / "out").proofs == ()
    assert "Nothing: neither a run nor a report was given." in (tmp_path / "out/report.md").read_text()
