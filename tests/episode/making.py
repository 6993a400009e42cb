"""Small tasks on disk, agents of a few lines, and a model that calls tools over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rubricgrade.episode.agents.choosing import ModelOptions, choose_agent
from rubricgrade.episode.environment import prepared
from rubricgrade.episode.playing import Episode, run_episode
from rubricgrade.episode.stage import Agent
from rubricgrade.episode.task import Task
from rubricgrade.sandbox import Sandbox, default_provider
from tests.chat.scripted import ScriptedServer, Seen, Wire, completion

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples" / "tasks"
ANSWER = {
    "id": "answer",
    "description": "answer.txt says 42",
    "points": 1,
    "check": {"matches": {"path": "answer.txt", "pattern": "^42$"}},
}
DOCKERFILE = "FROM python:3.13-slim\nWORKDIR /work\nCOPY files/ /work/\n"


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def write_task(
    folder: Path,
    files: Mapping[str, str] | None = None,
    *,
    toml: str = "",
    rubric: Mapping[str, Any] | None = None,
) -> Path:
    """A task whose agent has to write 42 into answer.txt."""
    wanted = {
        "task.toml": f'[metadata]\ndifficulty = "secretly hard"\n{toml}',
        "instruction.md": "Write the answer into answer.txt.\n",
        "environment/Dockerfile": DOCKERFILE,
        "environment/files/question.txt": "six times seven",
        "tests/rubric.yaml": json.dumps(rubric or {"id": "answer", "criteria": [ANSWER]}),
        "solution/solve.sh": "echo 42 > answer.txt\n",
    }
    return write(folder, {**wanted, **(files or {})})


def play(task: Task | Path, agent: Agent | str, folder: Path | None = None, **options: Any) -> Episode:
    task = task if isinstance(task, Task) else Task.load(task)
    if folder is not None:
        folder.mkdir(parents=True)
    return asyncio.run(
        run_episode(task, choose_agent(agent) if isinstance(agent, str) else agent, folder=folder, **options)
    )


def in_fork(task: Task | Path, work: Callable[[Sandbox], Any]) -> Any:
    """Await `work(sandbox)` in a fork of the task's template."""

    async def main() -> Any:
        provider = default_provider()
        async with prepared(task if isinstance(task, Task) else Task.load(task), provider) as template:
            sandbox = await provider.open(template, label="test")
            try:
                return await work(sandbox)
            finally:
                await sandbox.close()

    return asyncio.run(main())


def model_agent(server: ScriptedServer, **options: Any) -> Agent:
    return choose_agent("litellm:openai/scripted", ModelOptions(api_base=server.base, api_key="k", **options))


def calling(*calls: tuple[str, str | Mapping[str, Any]], text: str = "", finish: str = "tool_calls") -> Wire:
    """A reply with tool calls; arguments that are text are sent as they are."""
    asked = [
        {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for number, (name, given) in enumerate(calls, 1)
    ]
    return completion(text, finish, message={"tool_calls": asked})


def bash(command: str) -> Wire:
    return calling(("bash", {"command": command}))


def turns_of(seen: Seen) -> int:
    """How often the model has answered in the conversation that it is asked to go on with."""
    return sum(message["role"] == "assistant" for message in seen.body["messages"])


def by_turn(*wires: Wire) -> Callable[[Seen], Wire]:
    """Answers by the turn of the conversation, so that many may go on at once."""
    return lambda seen: wires[min(turns_of(seen), len(wires) - 1)]
