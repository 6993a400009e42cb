"""What can be quoted: every part of a trajectory and every document, each a text with an address."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pydantic import JsonValue

from rubricgrade.evidence.visible import one_line
from rubricgrade.trajectory import Call, Step, Trajectory

Section = Literal["task", "log", "artifacts", "world"]

WORLD = "world/"
"""Begins the address of every file of the world, and of no other."""

_PLAIN_KEY = re.compile(r"[A-Za-z_][\w.\-]{0,99}\Z", re.ASCII)
_MESSAGES = {"system": "user_messages", "user": "user_messages", "assistant": "agent_messages", "tool": "tool_results"}


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a file that the agent left, or that a tool kept.

    Attributes:
        path: Relative to the workspace or the world.
        text: What is in it, as text; empty when it has none.
        note: How the text was made, or why there is none.
        digest: Of the file's bytes, if known.
        world: It lies in the world, where the agent can't write.
        complete: False when limits kept a part of its text back.
        withheld: That was the agent's doing: it is too long or takes too much to be read, is no text or damaged, or is
            no regular file.
        pictures: Its pages as PNG, in order, where they were asked for and could be drawn.
    """

    path: str
    text: str
    note: str = ""
    digest: str = ""
    world: bool = False
    complete: bool = True
    withheld: bool = False
    pictures: tuple[bytes, ...] = ()


class Place(NamedTuple):
    """A text with an address.

    Attributes:
        where: ``task``, ``[12].text``, ``[12].reasoning``, ``[12].call_1``, ``[14].result``, or a document's path, that
            of a world file below ``world/``.
        text: All of it, as it came.
        section: The part of the prompt that it stands in.
        about: A remark for its heading, in words of ours only.
        name: How a heading calls it; a document's path is data, so that it is called ``file_1``.
        note: A document's note.
        hidden: Start and end of each piece that was cut out, in order; empty if all is shown.
    """

    where: str
    text: str
    section: Section
    about: str
    name: str
    note: str = ""
    hidden: tuple[tuple[int, int], ...] = ()

    @property
    def pieces(self) -> tuple[tuple[int, int], ...]:
        """Start and end of what is shown."""
        if not self.hidden:
            return ((0, len(self.text)),)
        starts = (0, *(end for _, end in self.hidden))
        ends = (*(start for start, _ in self.hidden), len(self.text))
        return tuple((start, end) for start, end in zip(starts, ends, strict=True) if start < end)

    @property
    def missing(self) -> int:
        """Characters that are not shown."""
        return sum(end - start for start, end in self.hidden)


def select(
    trajectory: Trajectory, documents: Iterable[Document] = (), sees: Collection[str] | None = None
) -> tuple[Place, ...]:
    """The places of a trajectory and of documents, in order.

    Args:
        trajectory: Where the task and the log come from.
        documents: Follow the log, numbered in the order given.
        sees: Parts as in a rubric's `sees`; None is all of them. System messages count as user messages: both are what
            the agent was told. The last message alone is shown where `final_message` is seen and `agent_messages` not.
    """
    shown = {"task", "user_messages", "agent_messages", "tool_calls", "tool_results", "reasoning"}
    return tuple(_places(trajectory, documents, shown if sees is None else sees))


def call_text(call: Call) -> str:
    """A tool call as text: the tool's name, then one argument a line.

    A text of one line stands as it is, in quotes where it could be taken for a number or the like; one of several lines
    is indented below its name, so that no text can pass for another argument. What is no text stands as JSON.
    """
    lines = [_single(call.name)]
    if call.arguments is None:
        lines.append("(arguments that are no JSON object)")
        lines += [f"    {line}" for line in (call.raw or "").split("\n")]
        return "\n".join(lines)
    for key, value in call.arguments.items():
        name = key if _PLAIN_KEY.match(key) else json.dumps(key, ensure_ascii=False)
        if isinstance(value, str) and "\n" in value:
            lines.append(f"{name}:")
            lines += [f"    {line}" for line in value.split("\n")]
        else:
            lines.append(f"{name}: {_argument(value)}")
    return "\n".join(lines)


def first_user_step(trajectory: Trajectory) -> int | None:
    """The step of the first user message; None without one."""
    return next((index for index, step in enumerate(trajectory.steps) if step.role == "user"), None)


def final_step(trajectory: Trajectory) -> int | None:
    """The step of the final message; None if the episode did not end with one."""
    if trajectory.final_message is None:
        return None
    return max(index for index, step in enumerate(trajectory.steps) if step.role == "assistant")


def separate_task(trajectory: Trajectory) -> str | None:
    """The task's text where it is recorded apart from the messages; None where the first user message says it."""
    first = first_user_step(trajectory)
    if trajectory.task is not None and first is not None:
        return None if trajectory.steps[first].text.strip() == trajectory.task.strip() else trajectory.task
    return trajectory.task


def _places(trajectory: Trajectory, documents: Iterable[Document], sees: Collection[str]) -> Iterator[Place]:
    task = separate_task(trajectory)
    if "task" in sees and task is not None:
        yield Place("task", task, "task", "", "task")
    final = final_step(trajectory) if "final_message" in sees else None
    asked = first_user_step(trajectory) if "task" in sees and task is None else None
    for index, step in enumerate(trajectory.steps):
        address = f"[{index}]"
        if step.reasoning and "reasoning" in sees:
            where = f"{address}.reasoning"
            yield Place(where, step.reasoning, "log", "the agent's private reasoning: claims, not acts", where)
        if _MESSAGES[step.role] in sees or index in (asked, final):
            text = step.text
            if text or not step.calls:
                where = f"{address}.result" if step.role == "tool" else f"{address}.text"
                yield Place(where, text, "log", _about(step), where)
        if step.calls and "tool_calls" in sees:
            yield from _calls(trajectory, index, results="tool_results" in sees)
    for number, document in enumerate(documents, 1):
        section: Section = "world" if document.world else "artifacts"
        yield Place(_path(document), document.text, section, "", f"file_{number}", document.note)


def _calls(trajectory: Trajectory, index: int, *, results: bool) -> Iterator[Place]:
    calls = trajectory.steps[index].calls
    for number, call in enumerate(calls, 1):
        where = f"[{index}].call_{number}"
        about = f"call {number} of {len(calls)} made at once" if len(calls) > 1 else "call"
        if results and (index, number) not in trajectory.results:
            about += ", no result is recorded"
        yield Place(where, call_text(call), "log", about, where)


def _about(step: Step) -> str:
    if step.role != "tool":
        return step.role
    answered = f"tool, answers [{step.answers[0]}].call_{step.answers[1]}" if step.answers else "tool"
    return f"{answered}, marked as failed" if step.failed else answered


def _argument(value: JsonValue) -> str:
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if value and value == value.strip() and value[0] not in '"[{-0123456789' and value not in ("true", "false", "null"):
        return value
    return json.dumps(value, ensure_ascii=False)


def _path(document: Document) -> str:
    """The path as an address, which no file name can pass off as one of a step or of the world."""
    path = one_line(document.path)
    if document.world:
        return f"{WORLD}{path}"
    return f"./{path}" if path.startswith(("[", WORLD)) else path


def _single(text: str) -> str:
    return text if "\n" not in text else json.dumps(text, ensure_ascii=False)
