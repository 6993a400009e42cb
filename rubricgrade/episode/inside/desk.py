"""Runs a task's own tools in a process apart from the agent's: ``python -m rubricgrade.episode.inside.desk FILE``.

A tool is a public function of the file whose first parameter is called ``desk``; its other parameters, their types and
its docstring are what the model is told. One JSON line in for every call; JSON lines out until its ``result``.
"""

from __future__ import annotations

import base64
import importlib.util
import inspect
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


class ToolFault(Exception):
    """Raised by a tool that can't do what it was asked; the agent is told the text."""


class Desk:
    """What a tool works with.

    Attributes:
        world: A folder for what the tools keep; it becomes the episode's world, and the agent can't reach it.
        files: The task's ``tools/`` folder, to read.
    """

    def __init__(self, files: Path) -> None:
        self.world = Path.cwd()
        self.files = files

    def read(self, path: str) -> bytes:
        """A file of the agent's work folder. Raises `ToolFault` when there is none."""
        answer = _ask({"op": "read", "path": path})
        if "data" not in answer:
            raise ToolFault(answer["missing"])
        return base64.b64decode(answer["data"])

    def write(self, path: str, data: bytes) -> None:
        """Put a file into the agent's work folder. Raises `ToolFault` when it can't be written."""
        answer = _ask({"op": "write", "path": path, "data": base64.b64encode(data).decode()})
        if "missing" in answer:
            raise ToolFault(answer["missing"])


def main(file: Path) -> None:
    """Describe the tools, then answer calls until the input ends."""
    spec = importlib.util.spec_from_file_location("tools", file)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules["tools"] = module
    sys.path.insert(0, str(file.parent))
    spec.loader.exec_module(module)
    tools = {name: _Function(name, value) for name, value in vars(module).items() if _is_tool(value, module.__name__)}
    _say({"op": "tools", "tools": [tool.described for tool in tools.values()]})
    desk = Desk(file.parent)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        _say({"op": "result", **tools[request["name"]].call(desk, request["arguments"])})


def _is_tool(value: Any, module: str) -> bool:
    if not inspect.isfunction(value) or value.__module__ != module or value.__name__.startswith("_"):
        return False
    return next(iter(inspect.signature(value).parameters), "") == "desk"


class _Function:
    """A tool with its checked arguments."""

    def __init__(self, name: str, function: Callable[..., str]) -> None:
        from pydantic import ConfigDict, create_model  # noqa: PLC0415 - the module must cost nothing to import

        signature = inspect.signature(function, eval_str=True)
        fields: dict[str, Any] = {
            parameter.name: (
                parameter.annotation,
                ... if parameter.default is inspect.Parameter.empty else parameter.default,
            )
            for parameter in list(signature.parameters.values())[1:]
        }
        self._function = function
        self._model = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
        self._names = tuple(fields)
        description = inspect.getdoc(function) or name
        self.described = {"name": name, "description": description, "parameters": self._model.model_json_schema()}

    def call(self, desk: Desk, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result, as it is sent."""
        from pydantic import ValidationError  # noqa: PLC0415 - as above

        from rubricgrade.misfits import misfits  # noqa: PLC0415 - as above

        try:
            given = self._model.model_validate(arguments)
            return {"text": str(self._function(desk, **{name: getattr(given, name) for name in self._names}))}
        except ValidationError as error:
            return {"text": f"error: {'; '.join(misfits(error))}", "failed": True}
        except ToolFault as fault:
            return {"text": f"error: {fault}", "failed": True}
        except Exception as error:  # noqa: BLE001 - a tool's own mistake must not end the tools of the episode
            return {"text": f"error: the tool failed: {type(error).__name__}: {error}", "failed": True}


_out = os.dup(1)
# What a tool prints goes to standard error: standard output is the line to the host.
os.dup2(2, 1)


def _say(message: dict[str, Any]) -> None:
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(_out, data) :]


def _ask(message: dict[str, Any]) -> dict[str, Any]:
    _say(message)
    answer = sys.stdin.buffer.readline()
    if not answer:
        raise SystemExit(0)
    return json.loads(answer)


if __name__ == "__main__":
    # Tools import `ToolFault` from this module by its name; without this there would be two of it.
    sys.modules["rubricgrade.episode.inside.desk"] = sys.modules["__main__"]
    main(Path(sys.argv[1]))
