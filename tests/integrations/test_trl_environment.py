"""The environment of TRL, as its trainer uses it: reset, tools, reward, reset."""

from __future__ import annotations

import asyncio
import inspect
import json
from pathlib import Path
from typing import Any, NoReturn

from rubricgrade.errors import SandboxUnavailable
from rubricgrade.integrations import trl
from rubricgrade.integrations.trl_environment import RubricEnvironment, environment
from rubricgrade.sandbox import BubblewrapProvider, Template
from tests.integrations.conftest import WriteRubric

SOLVED = {"id": "solved", "points": 1, "description": "a file says 4", "check": {"contains": {"path": "a.txt", "text": "4"}}}  # fmt: skip
QUIET = {
    "id": "brief", "points": 1, "description": "two calls at most",
    "check": {"trajectory": {"tool": "bash", "at_most": 2}},
}  # fmt: skip
PROMPT = [{"role": "user", "content": "Write 4 into a.txt"}]


def test_episodes_one_after_another(write_rubric: WriteRubric) -> None:
    made = environment(write_rubric(SOLVED, QUIET))()

    async def play(*commands: str) -> tuple[list[str], float | None]:
        made.reset(prompt=PROMPT, answer="4")
        said = [await made.bash(command) for command in commands]
        return said, await made.get_reward()

    async def plays() -> list[Any]:
        return [await play("echo 4 > a.txt"), await play("cat a.txt"), await play("true", "true", "echo 4 > a.txt")]

    (first, second, third) = asyncio.run(plays())
    assert (first[1], second[1], third[1]) == (1.0, 0.5, 0.5)
    assert "No such file" in second[0][0]
    assert "[exit code 1]" in second[0][0]


def test_an_episode_that_is_left_is_ended_by_the_next(write_rubric: WriteRubric) -> None:
    made = environment(write_rubric(SOLVED))()

    async def play() -> float | None:
        made.reset(prompt=PROMPT)
        await made.bash("echo 4 > a.txt")
        made.reset(prompt=PROMPT)
        return await made.get_reward()

    assert asyncio.run(play()) == 0.0


class Refusing(BubblewrapProvider):
    async def open(self, template: Template, *, label: str = "") -> NoReturn:
        raise SandboxUnavailable("not on this host")


def test_no_sandbox_is_no_score(write_rubric: WriteRubric) -> None:
    made = environment(write_rubric(SOLVED), provider=Refusing())()
    made.reset(prompt=PROMPT)
    assert asyncio.run(made.get_reward()) is None


def test_only_bash_is_offered_to_the_model() -> None:
    public = [name for name, _ in inspect.getmembers(RubricEnvironment, inspect.isfunction) if not name.startswith("_")]
    assert sorted(public) == ["bash", "get_reward", "reset"]
    assert "command:" in (RubricEnvironment.bash.__doc__ or "")


def test_a_reward_function_takes_the_workspace_of_an_environment(tmp_path: Path, write_rubric: WriteRubric) -> None:
    class Own:
        workspace = tmp_path / "left"

    Own.workspace.mkdir()
    (Own.workspace / "a.txt").write_text("4")
    function = trl.reward_function(write_rubric(SOLVED))
    given: dict[str, Any] = {
        "prompts": [PROMPT] * 2,
        "completions": ["done", "done"],
        "environments": [Own(), object()],
    }
    logged: dict[str, list[Any]] = {}
    assert function(**given, log_extra=logged.__setitem__)[0] == 1.0
    assert json.dumps(logged["rubricgrade"]).count("reward 1") == 1
