"""``trajectories.jsonl``: one line per finished attempt. A line is whole or not there, whoever else is writing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from rubricgrade.episode.playing import Episode
from rubricgrade.episode.tools import cut
from rubricgrade.errors import StoreError
from rubricgrade.misfits import first_misfit
from rubricgrade.result import CriterionResult, Grade, ItemResult
from rubricgrade.store import journal
from rubricgrade.trajectory import Step, Trajectory

FILE = "trajectories.jsonl"
SHOWN = 2000
"""Characters of a tool's output in a line; the trajectory file has all of it."""


class Tokens(BaseModel):
    """What a model took; `cost` in US dollars, None if unknown."""

    model_config = ConfigDict(frozen=True)

    input: int = 0
    output: int = 0
    cost: float | None = 0.0


class Line(BaseModel):
    """One attempt as a data set has it.

    Attributes:
        run: The run's name.
        task: The task's id.
        sample: The attempt's number, from 0.
        model: The agent's model.
        reward: The first grade's score, 0 to 1; None when it could not be graded. `score` reads current grades.
        passed: Cases that passed, where checks count any, else gates and criteria that take nothing from the score.
        total: Of so many.
        status: Of the grade.
        cause: Why it is ungraded.
        end: Why the agent stopped.
        steps: Replies of the agent.
        usage: Of the agent's model.
        judging: Of the models that judged it.
        fork_ms: Time to fork.
        agent_ms: Time of the agent.
        grade_ms: Time to grade.
        trajectory: Hash of the trajectory.
        task_hash: Hash of the task.
        messages: OpenAI-style, tool output cut to 2,000 characters.
        folder: Name of the attempt's folder in the task's, where it is not the sample's number.
    """

    model_config = ConfigDict(frozen=True)

    run: str
    task: str
    sample: int
    model: str
    reward: float | None
    passed: int
    total: int
    status: str
    cause: str | None
    end: str
    steps: int
    usage: Tokens
    judging: Tokens = Tokens()
    fork_ms: int
    agent_ms: int
    grade_ms: int
    trajectory: str
    task_hash: str
    messages: tuple[dict[str, Any], ...]
    folder: str = ""

    @property
    def home(self) -> str:
        """Path of the attempt's folder in the run."""
        return f"{self.task}/{self.folder or self.sample}"

    @property
    def key(self) -> tuple[str, int]:
        """What there is one line of: task and sample."""
        return self.task, self.sample


def line_of(run: str, task_hash: str, episode: Episode) -> Line:
    """The line of a finished episode."""
    trajectory, grade = episode.trajectory, episode.grade
    usage = trajectory.usage
    passed, total = passed_of(grade)
    return Line(
        run=run,
        task=trajectory.task_id or trajectory.id,
        sample=trajectory.sample or 0,
        model=trajectory.model or "",
        reward=grade.score,
        passed=passed,
        total=total,
        status=grade.status,
        cause=grade.cause,
        end=episode.end,
        steps=sum(step.role == "assistant" for step in trajectory.steps),
        usage=Tokens(input=usage.input_tokens or 0, output=usage.output_tokens or 0, cost=usage.cost)
        if usage
        else Tokens(),
        judging=Tokens(input=grade.usage.input_tokens, output=grade.usage.output_tokens, cost=grade.usage.cost),
        fork_ms=episode.timing.fork_ms,
        agent_ms=episode.timing.agent_ms,
        grade_ms=episode.timing.grade_ms,
        trajectory=trajectory.hash,
        task_hash=task_hash,
        messages=tuple(messages_of(trajectory)),
    )


def passed_of(grade: Grade) -> tuple[int, int]:
    """Cases that passed, of all: those that checks counted, or else whole gates and criteria."""
    items = [*grade.gates, *grade.leaves()]
    counts = [
        (item.check.passed, item.check.total)
        for item in items
        if item.check and item.check.passed is not None and item.check.total is not None
    ]
    if counts:
        return sum(passed for passed, _ in counts), sum(total for _, total in counts)
    asked = [item for item in items if item.verdict != "not_applicable"]
    return sum(map(_is_well, asked)), len(asked)


def _is_well(item: ItemResult) -> bool:
    """Whether a gate or a criterion takes nothing from the score; a penalty does so when it is not met."""
    bad = isinstance(item, CriterionResult) and (item.veto or (item.points or 0) < 0)
    return item.value == (0 if bad else 1)


def messages_of(trajectory: Trajectory, shown: int | None = SHOWN) -> Iterator[dict[str, Any]]:
    """The messages in OpenAI's form; a tool's output is cut to `shown` characters, or whole without a limit."""
    for step in trajectory.steps:
        yield _message(step, trajectory, shown)


def _message(step: Step, trajectory: Trajectory, shown: int | None) -> dict[str, Any]:
    if step.role == "tool":
        asked = None if step.answers is None else trajectory.steps[step.answers[0]].calls[step.answers[1] - 1].id
        return {"role": "tool", "tool_call_id": asked, "content": step.text if shown is None else cut(step.text, shown)}
    message: dict[str, Any] = {"role": step.role, "content": step.text}
    if step.calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": call.raw if call.arguments is None else json.dumps(call.arguments),
                },
            }
            for call in step.calls
        ]
    return message


def jsonl_of(lines: Iterable[Line]) -> bytes:
    """The lines as they stand in the file."""
    texts = (json.dumps(line.model_dump(mode="json"), ensure_ascii=False, allow_nan=False) for line in lines)
    return "".join(f"{text}\n" for text in texts).encode("utf-8", "surrogatepass")


def append(file: Path, line: Line) -> bool:
    """Add a line, unless there is one of this task and sample; safe for many processes at once.

    A last line that was torn by a crash is removed first.

    Returns:
        Whether it was added.

    Raises:
        StoreError: The file can't be written, or is damaged in its middle.
    """
    with journal.opened(file) as lines:
        if any(found.key == line.key for found in _parse(file, lines.content().splitlines())):
            return False
        lines.add(jsonl_of([line]))
    return True


def read_lines(file: Path) -> list[Line]:
    """All whole lines; a torn last one is left out, since its attempt will be made again.

    Raises:
        StoreError: The file can't be read, or is damaged in its middle.
    """
    return list(_parse(file, journal.whole_lines(file)))


def _parse(file: Path, lines: list[bytes]) -> Iterator[Line]:
    for number, text in enumerate(lines, 1):
        try:
            yield Line.model_validate_json(text)
        except ValidationError as error:
            raise StoreError(f"{file}:{number}: is no line of a run: {first_misfit(error)}") from None
