"""Task directories: what is read, what is refused, and what the agent gets to see of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rubricgrade.episode.limits import Limits
from rubricgrade.episode.task import Task
from rubricgrade.errors import InputError
from tests.episode.making import EXAMPLES, in_fork, play, write, write_task


def test_a_task_is_read_with_its_rubric(tmp_path: Path) -> None:
    toml = '[metadata.rubricgrade]\ntools = ["bash"]\npass_mark = 0.5\n[agent]\ntimeout_sec = 60\n'
    task = Task.load(write_task(tmp_path / "one", toml=toml))
    assert (task.id, task.instruction) == ("one", "Write the answer into answer.txt.")
    assert (task.settings.tools, task.settings.pass_mark, task.seconds) == (["bash"], 0.5, 60)
    assert task.rubric.id == "answer"
    assert task.limits(Limits(seconds=1000)).seconds == 60
    assert task.limits(Limits(seconds=10)).seconds == 10


def test_vars_of_a_task_fill_its_rubric(tmp_path: Path) -> None:
    rubric = {
        "id": "r",
        "vars": {"limit": 1},
        "gates": [{"id": "g", "description": "at most {{ vars.limit }}", "check": {"exists": "a"}}],
    }
    folder = write_task(tmp_path / "one", {"tests/vars.yaml": "limit: 7"}, rubric=rubric)
    assert Task.load(folder).rubric.vars["limit"] == 7


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    files = {
        "task.toml": '[metadata.rubricgrade]\ntool = ["x"]\n',
        "instruction.md": " ",
        "tests/rubric.yaml": "id: r\ncriteria: []\n",
    }
    with pytest.raises(InputError) as caught:
        Task.load(write_task(tmp_path / "one", files))
    told = str(caught.value)
    assert "metadata.rubricgrade: unknown key 'tool'" in told
    assert "is empty" in told
    assert "criteria" in told


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ('[metadata.rubricgrade]\ntools = ["browser"]', "no built-in tool 'browser'"),
        ('[metadata.rubricgrade]\noutside = "tools/none.py"', "there is no 'tools/none.py'"),
        ("[metadata.rubricgrade]\npass_mark = 2", "pass_mark"),
        ("[metadata.rubricgrade]\npass_mark = 0", "pass_mark"),
        ("[metadata", "is no TOML"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, toml: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Task.load(write_task(tmp_path / "one", {"task.toml": toml}))


def test_a_folder_without_a_task_is_no_task(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such task directory"):
        Task.load(tmp_path / "none")


@pytest.mark.parametrize("changed", ["instruction.md", "environment/files/question.txt", "tests/rubric.yaml"])
def test_what_decides_an_episode_is_in_the_hash(task: Path, changed: str) -> None:
    before = Task.load(task).hash
    (task / changed).write_bytes((task / changed).read_bytes() + b" ")
    assert Task.load(task).hash != before


def test_a_play_decides_nothing(task: Path) -> None:
    before = Task.load(task).hash
    write(task, {"plays/0.yaml": "steps: []"})
    assert Task.load(task).hash == before


def test_nothing_hidden_reaches_the_agent(task: Path) -> None:
    shown = play(task, "nop").trajectory.model_dump_json()
    assert "secretly hard" not in shown
    listing = in_fork(
        task, lambda sandbox: sandbox.exec(["find", "/", "-xdev", "-name", "rubric.yaml", "-o", "-name", "solve.sh"])
    )
    assert listing.stdout == b""


def test_the_examples_are_tasks() -> None:
    names = sorted(path.name for path in EXAMPLES.iterdir())
    assert names == ["add", "calc", "duration", "sales-report", "task-0417", "travel-mis"]
    assert all(Task.load(EXAMPLES / name).category for name in names)
