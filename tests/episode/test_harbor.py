"""Plain Harbor tasks: read as Harbor means them, refused where that can't be, graded by their scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from rubricgrade.episode.agents.proving import Oracle
from rubricgrade.episode.harbor import Verifier
from rubricgrade.episode.limits import End
from rubricgrade.episode.stage import Script, Stage
from rubricgrade.episode.task import Task
from rubricgrade.errors import InputError, TemplateError
from rubricgrade.trajectory import Call
from tests.episode.making import in_fork, play, write

SCRIPT = 'if [ "$(cat answer.txt)" = "${WANTED:-42}" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n'
# What most tasks begin with: it brings uv, and has it run the tests with pytest.
BOOTSTRAP = """#!/bin/bash
apt-get update
apt-get install -y curl
curl -LsSf https://astral.sh/uv/0.9.7/install.sh | sh
source $HOME/.local/bin/env
if uvx -p 3.13 --with pytest==8.4.1 --with pytest-json-ctrf==0.3.5 pytest --ctrf /logs/verifier/ctrf.json /tests/test_it.py
then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi
"""
TEST = "def test_it():\n    assert open('/app/answer.txt').read().strip() == '42'\n"
STEP = 'if [ "$(cat log.txt)" = "$(cat /tests/wanted)" ]; then echo {reward}; else echo 0; fi > /logs/verifier/reward.txt\n'


def harbor_task(folder: Path, toml: str = "", **files: str) -> Path:
    """A task without a rubric, whose agent has to write 42 into /app/answer.txt."""
    wanted = {
        "task.toml": toml,
        "instruction.md": "Write the answer into /app/answer.txt.\n",
        "environment/Dockerfile": "FROM ubuntu:24.04\nWORKDIR /app\n",
        "tests/test.sh": SCRIPT,
        "solution/solve.sh": "echo 42 > /app/answer.txt\n",
    }
    return write(folder, {**wanted, **files})


@pytest.mark.parametrize("agent", ["oracle", "nop"])
def test_a_script_that_fetches_what_is_here_already(tmp_path: Path, agent: str) -> None:
    task = harbor_task(tmp_path / "task", **{"tests/test.sh": BOOTSTRAP, "tests/test_it.py": TEST})
    assert play(task, agent).grade.score == (agent == "oracle")


def test_a_script_whose_packages_are_not_here_is_no_failure_of_an_agent(tmp_path: Path) -> None:
    task = harbor_task(tmp_path / "task", **{"tests/test.sh": "uvx --with no-such-package-here pytest\n"})
    with pytest.raises(TemplateError, match="pip install no-such-package-here"):
        play(task, "nop")


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("[[environment.mcp_servers]]\nname = 'x'\n", "MCP servers"),
        ("[environment]\ngpus = 1\n", "no GPU"),
        ("[environment]\nos = 'Windows'\n", "only linux"),
        ("[environment.healthcheck]\ncommand = 'true'\n", "no service"),
        ("[[verifier.collect]]\ncommand = 'true'\n", "verifier.collect"),
        ("[verifier.environment]\ndocker_image = 'x'\n", "tests/Dockerfile"),
        ("[verifier.env]\nKEY = '${KEY}'\n", "verifier.env.KEY"),
        ("[environment.env]\nKEY = '${KEY}'\n", "environment.env.KEY"),
        ("[verifier]\nenvironment_mode = 'separate'\n", "runs apart and gets nothing"),
        ("artifacts = ['/etc/x']\n", "outside the work folder /app"),
        ("artifacts = [{source = '/app/x', service = 'db'}]\n", "service 'db'"),
        ("artifacts = [3]\n", "not 3"),
        ("[[steps]]\nname = '../x'\n", "name of its own"),
        ("[[steps]]\nname = 'a'\nmin_reward = {safety = 1}\n", "no other reward"),
    ],
)
def test_what_would_make_another_task_of_it_is_refused(tmp_path: Path, toml: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Task.load(harbor_task(tmp_path / "task", toml))


def test_services_beside_the_agent_are_refused(tmp_path: Path) -> None:
    compose = "services:\n  main: {build: .}\n"
    task = harbor_task(tmp_path / "task", **{"environment/docker-compose.yaml": compose})
    Task.load(task)
    write(task, {"environment/docker-compose.yaml": compose + "  db: {image: postgres}\n"})
    with pytest.raises(InputError, match="starts db beside the agent"):
        Task.load(task)


def test_settings_are_read_as_harbor_means_them(tmp_path: Path) -> None:
    toml = "artifacts = [{source = '/app/out'}, 'notes.md']\n[verifier]\ntimeout_sec = 90.0\nenvironment_mode = 'separate'\n"
    toml += "[verifier.env]\nWANTED = '${WANTED:-42}'\n[environment]\nmemory = '2G'\nworkdir = '/app'\n"
    instruction = "<!-- canary GUID 1 -->\n# canary GUID 2\n\nDo it.\n"
    task = Task.load(harbor_task(tmp_path / "task", toml, **{"instruction.md": instruction}))
    assert task.instruction == "Do it."
    assert task.verifier == Verifier(apart=True, env={"WANTED": "42"}, seconds=90)
    assert task.artifacts == ("out", "out/**", "notes.md")
    assert task.memory == 2 << 30


def test_a_verifiers_environment_is_given(tmp_path: Path) -> None:
    task = harbor_task(tmp_path / "task", "[verifier.env]\nWANTED = '43'\n")
    assert play(task, "oracle").grade.score == 0


def test_a_script_that_shares_the_container_sees_all_that_was_left(tmp_path: Path) -> None:
    """Harbor copies artifacts out for people; what the script sees does not depend on them."""
    assert play(harbor_task(tmp_path / "task", "artifacts = ['/app/other.txt']\n"), "oracle").grade.score == 1


class Planting:
    """Solves the task, and leaves a file that would make pytest pass whatever is tested."""

    name = "planting"
    model = "planting"
    sees: Literal["task", "solution"] = "task"

    async def act(self, stage: Stage, script: Script) -> End:
        command = "echo 41 > answer.txt; echo 'def pytest_collection_modifyitems(items): items.clear()' > conftest.py; cp conftest.py /app"
        await stage.act("", (Call(id="1", name="bash", arguments={"command": command}),))
        return "done"


def test_a_verifier_apart_has_its_own_image_and_declared_artifacts_only(tmp_path: Path) -> None:
    script = 'if [ -e conftest.py ] || [ -z "$MINE" ]; then echo 1; elif grep -q 42 answer.txt; then echo 0.5; else echo 0; fi > /logs/verifier/reward.txt\n'
    files = {
        "tests/test.sh": script,
        "tests/Dockerfile": "FROM ubuntu:24.04\nENV MINE=1\nWORKDIR /app\nCOPY . /tests/\n",
    }
    toml = "artifacts = ['/app/answer.txt']\n[verifier]\nenvironment_mode = 'separate'\n"
    task = harbor_task(tmp_path / "task", toml, **files)
    assert play(task, Planting()).grade.score == 0
    made = play(task, "oracle")
    assert made.grade.score == 0.5
    assert made.grade.template is not None
    assert made.grade.template.id == "task tests"
    write(task, {"tests/Dockerfile": "FROM ubuntu:24.04\nWORKDIR /elsewhere\n"})
    with pytest.raises(TemplateError, match=r"works in /elsewhere, and the agent in /app"):
        play(task, "oracle")


def stepped_task(folder: Path, toml: str = "", rewards: tuple[str, str, str] = ("1", "1", "1")) -> Path:
    """Three steps; in each, the agent adds a line to log.txt."""
    names = ("one", "two", "three")
    tables = "".join(f"[[steps]]\nname = '{name}'\n{toml if name == 'two' else ''}" for name in names)
    files = {"task.toml": tables, "environment/Dockerfile": "FROM ubuntu:24.04\nWORKDIR /app\n", "tests/shared": ""}
    for number, (name, reward) in enumerate(zip(names, rewards, strict=True), 1):
        lines = "".join(f"{each}\n" for each in names[:number])
        place = f"steps/{name}"
        files[f"{place}/instruction.md"] = f"Add {name}."
        files[f"{place}/tests/test.sh"] = STEP.format(reward=reward)
        files[f"{place}/tests/wanted"] = lines
        files[f"{place}/solution/solve.sh"] = f"cat /solution/line >> /app/log.txt; [ -e brought-{name} ]\n"
        files[f"{place}/solution/line"] = f"{name}\n"
        files[f"{place}/workdir/setup.sh"] = f"touch brought-{name}\n"
    return write(folder, files)


def test_steps_are_told_one_by_one_and_verified_as_each_was_left(tmp_path: Path) -> None:
    task = stepped_task(tmp_path / "task", rewards=("1", "0.5", "0"))
    made = play(task, "oracle", tmp_path / "episode")
    assert made.end == "done"
    assert made.grade.score == 0.5
    record = made.grade.criteria[0].check
    assert record is not None
    assert record.fields == {"one": 1, "two": 0.5, "three": 0}
    told = [step.text for step in made.trajectory.steps if step.role == "user"]
    assert told == ["Add one.", "Add two.", "Add three."]
    assert play(task, "nop").grade.score == 0


def test_a_step_that_falls_short_is_the_last(tmp_path: Path) -> None:
    task = stepped_task(tmp_path / "task", "min_reward = 0.75\n", rewards=("1", "0.5", "1"))
    made = play(task, Oracle())
    assert [step.text for step in made.trajectory.steps if step.role == "user"] == ["Add one.", "Add two."]
    assert made.grade.score == 0.75


def test_the_last_step_may_decide(tmp_path: Path) -> None:
    task = stepped_task(tmp_path / "task", rewards=("0", "0", "1"))
    write(task, {"task.toml": "multi_step_reward_strategy = 'final'\n" + (task / "task.toml").read_text()})
    assert play(task, "oracle").grade.score == 1


def test_a_step_with_tests_that_need_an_image_is_refused(tmp_path: Path) -> None:
    task = stepped_task(tmp_path / "task")
    write(task, {"steps/one/tests/Dockerfile": "FROM ubuntu:24.04\nRUN make tools\n"})
    with pytest.raises(TemplateError, match="one step"):
        play(task, "nop")


def test_files_are_copied_into_folders_that_are_there(tmp_path: Path) -> None:
    docker = "FROM x\nENV PATH=/app/bin:${PATH}\nRUN mkdir -p /data\nCOPY a.txt /app\nCOPY a.txt /data\nWORKDIR /app\nRUN echo made > /data/b.txt\n"
    task = harbor_task(tmp_path / "task", **{"environment/Dockerfile": docker, "environment/a.txt": "a"})

    async def look(sandbox: object) -> bytes:
        return (await sandbox.exec(["cat", "a.txt", "/data/a.txt", "/data/b.txt"])).stdout  # type: ignore[attr-defined]

    assert in_fork(task, look) == b"aamade\n"
