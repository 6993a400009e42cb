"""Scores, calibration and grading again, over runs that were really made."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest
from typer.testing import CliRunner

from rubricgrade.cli.app import app
from rubricgrade.episode.limits import End
from rubricgrade.episode.stage import Script, Stage
from rubricgrade.episode.task import Task
from rubricgrade.errors import InputError
from rubricgrade.loading import load_rubric
from rubricgrade.runs.calibration import Calibrated, Thresholds, calibrate
from rubricgrade.runs.regrading import Regraded, regrade
from rubricgrade.runs.running import Plan, run
from rubricgrade.runs.standing import stand
from rubricgrade.trajectory import Call
from tests.episode.making import ANSWER, write, write_task

GATE = {"id": "there", "description": "answer.txt is there", "check": {"exists": "answer.txt"}}
FLAKY = {"id": "flaky", "description": "by chance", "points": 1, "check": {"python": "checks/flaky.py:flaky"}}


class Sometimes:
    """Solves the attempts that it is told."""

    name = model = "sometimes"
    sees: Literal["task", "solution"] = "task"

    def __init__(self, solved: Sequence[int]) -> None:
        self.solved = solved

    async def act(self, stage: Stage, script: Script) -> End:
        command = "echo 42 > answer.txt" if script.sample in self.solved else "true"
        await stage.act("", (Call(name="bash", arguments={"command": command}),))
        return "done"


def made(folder: Path, tasks: Sequence[Path], *, samples: int = 4, solved: Sequence[int] = (1,)) -> Path:
    async def main() -> None:
        plan = Plan(tuple(map(Task.load, tasks)), Sometimes(solved), folder, samples=samples)
        async for _ in run(plan):
            pass

    asyncio.run(main())
    return folder


def calibrated(folder: Path, **options: object) -> dict[str, Calibrated]:
    result = asyncio.run(calibrate(folder, **options))  # pyright: ignore[reportArgumentType] - options of several types
    return {task.task: task for task in result.tasks}


def regraded(folder: Path, rubric: Path | None = None) -> list[Regraded]:
    async def main() -> list[Regraded]:
        return [one async for one in regrade(folder, rubric=None if rubric is None else load_rubric(rubric))]

    return asyncio.run(main())


def test_a_task_that_is_solved_now_and_then(task: Path, tmp_path: Path) -> None:
    standing = stand(made(tmp_path / "run", [task]), [1, 2, 5])
    (row,) = standing.tasks
    assert (row.rollouts, row.solved, row.reward) == (4, 1, 0.25)
    assert row.pass_at == {1: 0.25, 2: 0.5, 5: None}
    assert row.pass_all == {1: 0.25, 2: 0.0, 5: None}
    assert row.short == ("answer",)
    assert row.interval is not None
    assert row.interval[0] < 0.25 < row.interval[1]


def test_ungraded_attempts_are_told_and_in_no_number(tmp_path: Path) -> None:
    broken = {"id": "judged", "description": "nobody is there to judge", "points": 1, "judge": {}}
    task = write_task(tmp_path / "task", rubric={"id": "r", "gates": [GATE], "criteria": [broken]})
    folder = made(tmp_path / "run", [task], samples=2)
    standing = stand(folder)
    overall = standing.overall
    assert (overall.rollouts, overall.ungraded, overall.solved, overall.reward) == (1, 1, 0, 0.0)
    assert overall.pass_at[2] is None
    (opened,) = standing.opened
    assert (opened.cause, opened.grades, opened.name) == ("no_judge", 1, "task/1")
    assert opened.why.startswith("judged: ")
    told = CliRunner().invoke(app, ["score", str(folder)])
    assert f"no_judge: 1 attempt, such as {opened.name} (judged: " in told.stderr
    assert f"grade again: rubricgrade regrade {folder}" in told.stderr


def test_categories_and_what_is_missing(tmp_path: Path) -> None:
    tasks = [
        write_task(tmp_path / name, {"task.toml": f'[metadata]\ncategory = "{kind}"\n'})
        for name, kind in (("a", "one"), ("b", "two"), ("c", "two"))
    ]
    folder = made(tmp_path / "run", tasks, samples=1, solved=[0])
    lines = (folder / "trajectories.jsonl").read_text().splitlines(keepends=True)
    (folder / "trajectories.jsonl").write_text("".join(line for line in lines if json.loads(line)["task"] != "a"))
    standing = stand(folder)
    assert standing.missing == 1
    assert {row.name: row.rollouts for row in standing.categories} == {"one": 0, "two": 2}
    assert standing.overall.reward == 1


def test_grading_again_with_another_rubric_runs_no_agent(task: Path, tmp_path: Path) -> None:
    folder = made(tmp_path / "run", [task])
    before = (folder / "trajectories.jsonl").read_bytes()
    other = {"id": "other", "criteria": [{**ANSWER, "id": "absent", "check": {"not": {"exists": "answer.txt"}}}]}
    write(tmp_path, {"other.yaml": json.dumps(other)})
    changes = {
        one.attempt.line.sample: (one.attempt.reward, one.grade.score)
        for one in regraded(folder, tmp_path / "other.yaml")
    }
    assert changes == {0: (0, 1), 1: (1, 0), 2: (0, 1), 3: (0, 1)}
    assert stand(folder).overall.reward == 0.75
    assert (folder / "trajectories.jsonl").read_bytes() == before
    assert [one.changed for one in regraded(folder, tmp_path / "other.yaml")] == [False] * 4


def test_a_changed_environment_is_no_place_to_grade_in(task: Path, tmp_path: Path) -> None:
    folder = made(tmp_path / "run", [task], samples=1)
    write(task, {"environment/files/question.txt": "another"})
    with pytest.raises(InputError, match="environment has changed"):
        regraded(folder)


def test_keep_drop_and_inspect_as_in_the_seed(tmp_path: Path) -> None:
    tasks = [write_task(tmp_path / name) for name in ("task-0417", "task-0418", "task-0419")]

    class Sixteen(Sometimes):
        async def act(self, stage: Stage, script: Script) -> End:
            self.solved = range({"task-0417": 2, "task-0418": 6, "task-0419": 0}[script.task])
            return await super().act(stage, script)

    async def main() -> None:
        async for _ in run(Plan(tuple(map(Task.load, tasks)), Sixteen(()), tmp_path / "run", samples=6)):
            pass

    asyncio.run(main())
    found = calibrated(tmp_path / "run")
    assert {name: (task.solved, task.attempts, task.decision) for name, task in found.items()} == {
        "task-0417": (2, 6, "keep"),
        "task-0418": (6, 6, "drop"),
        "task-0419": (0, 6, "inspect"),
    }
    assert "the reference solution passes" in found["task-0419"].reasons
    written = json.loads((tmp_path / "run" / "calibration.json").read_text())
    assert written["schema"] == "rubricgrade.calibration/1"
    assert [task["decision"] for task in written["tasks"]] == ["keep", "drop", "inspect"]


def test_a_reference_that_does_not_pass_is_found(tmp_path: Path) -> None:
    task = write_task(tmp_path / "task", {"solution/solve.sh": "echo 41 > answer.txt\n"})
    (found,) = calibrated(made(tmp_path / "run", [task], solved=())).values()
    assert found.decision == "inspect"
    assert "broken: the reference solution scores 0" in found.reasons


def test_a_gate_that_nobody_passes_is_named(tmp_path: Path) -> None:
    task = write_task(tmp_path / "task", rubric={"id": "r", "gates": [GATE], "criteria": [ANSWER]})
    (found,) = calibrated(made(tmp_path / "run", [task], solved=()), probe=False).values()
    assert "every attempt failed the same gate: there" in found.reasons


def test_a_check_that_decides_by_chance_is_found_although_the_rate_looks_well(tmp_path: Path) -> None:
    code = "import os\n\ndef flaky(case):\n    return os.urandom(1)[0] / 255\n"
    task = write_task(tmp_path / "task", {"tests/checks/flaky.py": code}, rubric={"id": "r", "criteria": [FLAKY]})
    (found,) = calibrated(made(tmp_path / "run", [task])).values()
    assert found.decision == "inspect"
    assert any("is now" in reason for reason in found.reasons)


def test_attempts_that_could_not_be_graded_speak_against_the_task(tmp_path: Path) -> None:
    code = "def flaky(case):\n    raise RuntimeError('the author slipped')\n"
    rubric = {"id": "r", "gates": [GATE], "criteria": [FLAKY]}
    task = write_task(tmp_path / "task", {"tests/checks/flaky.py": code}, rubric=rubric)
    (found,) = calibrated(made(tmp_path / "run", [task]), probe=False).values()
    assert (found.attempts, found.decision) == (3, "inspect")
    assert "broken: 1 of 4 attempts could not be graded (check_error)" in found.reasons


def test_too_few_attempts_decide_nothing(task: Path, tmp_path: Path) -> None:
    (found,) = calibrated(made(tmp_path / "run", [task]), thresholds=Thresholds(attempts=5), probe=False).values()
    assert found.decision == "inspect"


def test_a_reward_that_stands_in_no_grade_file_is_in_no_number(task: Path, tmp_path: Path) -> None:
    folder = made(tmp_path / "run", [task], samples=2)
    file = folder / "trajectories.jsonl"
    file.write_text(file.read_text().replace('"reward": 0.0', '"reward": 0.99'))
    assert stand(folder).overall.reward == 0.5
    shutil.rmtree(folder / task.name / "0" / "grades")
    standing = stand(folder)
    assert (standing.without_grade, standing.overall.ungraded, standing.overall.rollouts) == (1, 1, 1)
    assert (standing.overall.reward, standing.overall.solved) == (1, 1)
    told = CliRunner().invoke(app, ["score", str(folder)])
    assert told.exit_code == 3
    assert "1 reward without a grade file, ungraded therefore" in told.stderr


@pytest.mark.parametrize("mark", ["0.0", "-1", "1.5", "NaN"])
def test_a_pass_mark_that_anything_or_nothing_reaches_is_refused(task: Path, tmp_path: Path, mark: str) -> None:
    folder = made(tmp_path / "run", [task], samples=1, solved=())
    change(folder, mark)
    with pytest.raises(InputError, match="pass_mark"):
        stand(folder)


def test_a_pass_mark_below_one_is_told_and_nothing_solves_with_0(task: Path, tmp_path: Path) -> None:
    folder = made(tmp_path / "run", [task], samples=1, solved=())
    assert "counted as solved" not in CliRunner().invoke(app, ["score", str(folder)]).stderr
    change(folder, "1e-12")
    standing = stand(folder)
    assert (standing.overall.reward, standing.overall.solved) == (0, 0)
    assert standing.pass_marks == {task.name: 1e-12}
    told = CliRunner().invoke(app, ["score", str(folder)])
    assert f"counted as solved from less than 1: {task.name} 1e-12" in told.stderr


def change(folder: Path, mark: str) -> None:
    """Give a run another pass mark, as text."""
    file = folder / "run.json"
    text = file.read_text()
    assert '"pass_mark": 1.0' in text
    file.write_text(text.replace('"pass_mark": 1.0', f'"pass_mark": {mark}'))
