"""The tools that an agent can call: a shell and files in its sandbox, and the task's own outside of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from rubricgrade.sandbox import Done, Sandbox

SECONDS = 120.0
MOST_SECONDS = 600.0
OUTPUT = 1 << 20


@dataclass(frozen=True, slots=True)
class Tool:
    """What a model is told about a tool.

    Attributes:
        name: As it is called.
        description: What it does.
        parameters: JSON Schema of its arguments, an object.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]

    def definition(self) -> dict[str, Any]:
        """OpenAI's form of it."""
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class Told:
    """What a tool answers, in full. `failed` says that it could not do what it was asked."""

    text: str
    failed: bool = False


class Outside(Protocol):
    """Tools that run outside the agent's sandbox."""

    @property
    def tools(self) -> Sequence[Tool]:
        """What there is."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Told:
        """Call one of them."""
        ...


def _schema(required: Sequence[str], **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


_TEXT = {"type": "string"}
BUILT_IN = {
    tool.name: tool
    for tool in (
        Tool(
            "bash",
            "Run a bash command in the work folder. Answers with its exit code and its output.",
            _schema(["command"], command=_TEXT, timeout={"type": "number", "description": "Seconds; default 120."}),
        ),
        Tool("read_file", "Read a text file.", _schema(["path"], path=_TEXT)),
        Tool(
            "edit_file",
            "Replace a text that occurs exactly once in a file. With an empty `old`, write a new file.",
            _schema(["path", "old", "new"], path=_TEXT, old=_TEXT, new=_TEXT),
        ),
    )
}

OVERLAPPING = frozenset({"bash", "read_file"})
"""Tools whose calls may go on beside each other."""


class Toolbox:
    """The tools of one episode."""

    def __init__(self, sandbox: Sandbox, names: Sequence[str], outside: Outside | None = None) -> None:
        self._sandbox = sandbox
        self._outside = outside
        self._names = tuple(names)
        self._own: Mapping[str, Callable[[Mapping[str, Any]], Awaitable[Told]]] = {
            "bash": self._bash,
            "read_file": self._read_file,
            "edit_file": self._edit_file,
        }

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All that can be called. A task's own tool takes the place of a built-in one of the same name."""
        own = {name: BUILT_IN[name] for name in self._names}
        theirs = {tool.name: tool for tool in self._outside.tools} if self._outside else {}
        return tuple({**own, **theirs}.values())

    def may_overlap(self, name: str) -> bool:
        """Whether calls of a tool may go on beside each other.

        Not those that read a file and write it back, nor the task's own: their world depends on the order.
        """
        return name in OVERLAPPING and not self._is_outside(name)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Told:
        """Call a tool with whatever a model has made up as its arguments."""
        tool = next((tool for tool in self.tools if tool.name == name), None)
        if tool is None:
            return _failed(f"there is no tool {name!r}; there are {', '.join(tool.name for tool in self.tools)}")
        if self._outside is not None and self._is_outside(name):
            return await self._outside.call(name, arguments)
        if wrong := _misfit(tool, arguments):
            return _failed(wrong)
        return await self._own[name](arguments)

    def _is_outside(self, name: str) -> bool:
        return self._outside is not None and any(tool.name == name for tool in self._outside.tools)

    async def _bash(self, arguments: Mapping[str, Any]) -> Told:
        seconds = min(max(float(arguments.get("timeout", SECONDS)), 0.1), MOST_SECONDS)
        command = str(arguments["command"])
        done = await self._sandbox.exec(["bash", "-c", command], timeout=seconds, limit=OUTPUT)
        return shown(done, seconds)

    async def _read_file(self, arguments: Mapping[str, Any]) -> Told:
        try:
            return Told((await self._sandbox.read(str(arguments["path"]))).decode("utf-8", "replace"))
        except (OSError, ValueError) as error:
            return _failed(str(error))

    async def _edit_file(self, arguments: Mapping[str, Any]) -> Told:
        path, old, new = (str(arguments[name]) for name in ("path", "old", "new"))
        try:
            if not old:
                await self._sandbox.write(path, new.encode("utf-8", "replace"))
                return Told(f"wrote {path}")
            text = (await self._sandbox.read(path)).decode("utf-8")
            if (times := text.count(old)) != 1:
                return _failed(f"the text to replace occurs {times} times in {path}, not once")
            await self._sandbox.write(path, text.replace(old, new).encode("utf-8", "replace"))
        except (OSError, ValueError) as error:
            return _failed(str(error))
        return Told(f"edited {path}")


def shown(done: Done, seconds: float) -> Told:
    """How a command ended, for a model: nothing of it is left out without a word."""
    lines = [f"exit {done.code}" if not done.timed_out else f"stopped after {seconds:g} s"]
    if done.error:
        lines = [f"not started: {done.error}"]
    notices = {done.oom: "memory ran out", done.full: "the disk is full", done.flooded: "too much output: stopped"}
    lines += [notice for happened, notice in notices.items() if happened]
    kept = len(done.stdout) + len(done.stderr)
    if (written := done.stdout_total + done.stderr_total) > kept:
        lines.append(f"[{written - kept} of {written} bytes of output were dropped in the middle]")
    output = (done.stdout + done.stderr).decode("utf-8", "replace")
    return Told("\n".join([*lines, output]).rstrip("\n"), failed=not done.ok)


def cut(text: str, limit: int) -> str:
    """A text as a model is shown it: head and tail, and a notice of what is missing between."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters are not shown ...]\n{text[-half:]}"


def _failed(why: str) -> Told:
    return Told(f"error: {why}", failed=True)


_KINDS: Mapping[str, tuple[type, ...]] = {"string": (str,), "number": (int, float)}


def _misfit(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """What is wrong with the arguments of a built-in tool; empty if nothing is."""
    properties = cast("Mapping[str, Mapping[str, Any]]", tool.parameters["properties"])
    if missing := [name for name in tool.parameters["required"] if name not in arguments]:
        return f"{tool.name} needs {', '.join(missing)}"
    for name, value in arguments.items():
        if name not in properties:
            return f"{tool.name} takes no {name!r}; it takes {', '.join(properties)}"
        if isinstance(value, bool) or not isinstance(value, _KINDS[properties[name]["type"]]):
            return f"{name} must be a {properties[name]['type']}"
        if name == "path" and "\0" in value:
            return "a path has no NUL character"
    return ""
