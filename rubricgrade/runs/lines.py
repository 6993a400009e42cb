"""``trajectories.jsonl``: one line per finished attempt. A line is whole or not there, whoever else is writing."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from rubricgrade.episode.playing import Episode
from rubricgrade.episode.tools import cut
from rubricgrade.errors import StoreError
from rubricgrade.result import CriterionResult, Grade, ItemResult
from rubricgrade.trajectory import Step, Trajectory

FILE = "trajectories.jsonl"
SHOWN = 2000
"""Characters of a tool's output in a line; the trajectory file has all of it."""
BLOCK = 1 << 16


class Tokens(BaseModel):
    """What the agent's model took; `cost` in US dollars, None if unknown."""

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
        fork_ms: Time to fork.
        agent_ms: Time of the agent.
        grade_ms: Time to grade.
        trajectory: Hash of the trajectory.
        task_hash: Hash of the task.
        messages: OpenAI-style, tool output cut to 2,000 characters.
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
    fork_ms: int
    agent_ms: int
    grade_ms: int
    trajectory: str
    task_hash: str
    messages: tuple[dict[str, Any], ...]

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


def messages_of(trajectory: Trajectory) -> Iterator[dict[str, Any]]:
    """The messages in OpenAI's form."""
    for step in trajectory.steps:
        yield _message(step, trajectory)


def _message(step: Step, trajectory: Trajectory) -> dict[str, Any]:
    if step.role == "tool":
        asked = None if step.answers is None else trajectory.steps[step.answers[0]].calls[step.answers[1] - 1].id
        return {"role": "tool", "tool_call_id": asked, "content": cut(step.text, SHOWN)}
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


def append(file: Path, line: Line) -> bool:
    """Add a line, unless there is one of this task and sample; safe for many processes at once.

    A last line that was torn by a crash is removed first.

    Returns:
        Whether it was added.

    Raises:
        StoreError: The file can't be written, or is damaged in its middle.
    """
    text = json.dumps(line.model_dump(mode="json"), ensure_ascii=False, allow_nan=False) + "\n"
    with _locked(file) as handle:
        _mend(handle)
        if any(found.key == line.key for found in _parse(file, _content(handle))):
            return False
        os.lseek(handle, 0, os.SEEK_END)
        view = memoryview(text.encode("utf-8", "surrogatepass"))
        while view:
            view = view[os.write(handle, view) :]
        os.fsync(handle)
    return True


def read_lines(file: Path) -> list[Line]:
    """All whole lines; a torn last one is left out, since its attempt will be made again.

    Raises:
        StoreError: The file can't be read, or is damaged in its middle.
    """
    if not file.exists():
        return []
    try:
        content = file.read_bytes()
    except OSError as error:
        raise StoreError(f"can't read {file}: {error.strerror or error}") from error
    return list(_parse(file, content[: content.rfind(b"\n") + 1]))


def _parse(file: Path, content: bytes) -> Iterator[Line]:
    for number, text in enumerate(content.splitlines(), 1):
        try:
            yield Line.model_validate_json(text)
        except ValidationError as error:
            raise StoreError(f"{file}:{number}: is no line of a run: {error.errors()[0]['msg']}") from None


@contextmanager
def _locked(file: Path) -> Generator[int]:
    try:
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield handle
        finally:
            os.close(handle)
    except OSError as error:
        raise StoreError(f"can't write {file}: {error.strerror or error}") from error


def _content(handle: int) -> bytes:
    os.lseek(handle, 0, os.SEEK_SET)
    return b"".join(iter(lambda: os.read(handle, BLOCK), b""))


def _mend(handle: int) -> None:
    content = _content(handle)
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.ftruncate(handle, whole)
