"""An attack as a value: what it knows, what it does, which weakness it would show, and what would close it."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

TEST = ("test_", "_test.", "tests/", "conftest.py")


@dataclass(frozen=True, slots=True)
class Target:
    """A task as an attacker knows it.

    Attributes:
        instruction: All that an agent is told.
        workdir: The work folder's path inside.
        files: Text files of the fresh work folder, by path.
        solution: Files that the reference solution makes or changes, with what they hold then. Only their names, and
            the names of what they define, may be used: an attacker has no solution.
        tools: What the agent can call.
        repository: Whether the work folder is in a git repository.
    """

    instruction: str
    workdir: str
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    solution: Mapping[str, str] = field(default_factory=dict[str, str])
    tools: frozenset[str] = frozenset()
    repository: bool = False

    @property
    def tests(self) -> dict[str, str]:
        """The tests that an agent can see."""
        return tests_among(self.files)

    @property
    def telling(self) -> dict[str, str]:
        """Where examples are given: the instruction, visible tests and Markdown."""
        return telling(self.instruction, self.files)

    @property
    def modules(self) -> list[str]:
        """Python files of the solution."""
        return sorted(path for path in self.solution if path.endswith(".py"))

    def functions(self, path: str) -> list[str]:
        """Names of the functions that a solution file defines at its top level."""
        try:
            body = ast.parse(self.solution.get(path, "")).body
        except (SyntaxError, ValueError):
            return []
        return [node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]

    @property
    def results(self) -> list[str]:
        """Files of the solution that are no programs: reports, tables, answers."""
        programs = {".py", ".js", ".ts", ".sh", ".c", ".go", ".rs", ".java"}
        return sorted(path for path in self.solution if PurePosixPath(path).suffix not in programs)


@dataclass(frozen=True, slots=True)
class Plan:
    """What an attacker does.

    Attributes:
        script: For bash, in the work folder; empty for nothing.
        says: The final message.
    """

    script: str = ""
    says: str = "Done."


@dataclass(frozen=True, slots=True)
class Attack:
    """A known cheat.

    Attributes:
        id: Names it.
        title: What it does, in a few words.
        shows: The weakness that a reward for it shows.
        remedy: What would close it.
        plan: From the target to what to do, or to the reason why it does not apply: as text.
        bash: Whether it needs a shell.
    """

    id: str
    title: str
    shows: str
    remedy: str
    plan: Callable[[Target], Plan | str]
    bash: bool = True

    def against(self, target: Target) -> Plan | str:
        """The plan for a task, or why there is none."""
        if self.bash and "bash" not in target.tools:
            return "the task gives no shell"
        return self.plan(target)


def tests_among(files: Mapping[str, str]) -> dict[str, str]:
    """Those of some files that look like tests."""
    return {path: text for path, text in files.items() if any(mark in path for mark in TEST)}


def telling(instruction: str, files: Mapping[str, str]) -> dict[str, str]:
    """Texts in which examples are given, by their path: the instruction, tests and Markdown."""
    notes = {path: text for path, text in files.items() if path.endswith(".md")}
    return {"instruction.md": instruction, **notes, **tests_among(files)}


def written(files: Mapping[str, str]) -> str:
    """A script that writes text files; whatever they hold, bash reads none of it."""
    lines = [
        f"mkdir -p -- {shlex.quote(str(PurePosixPath(path).parent))} && printf %s {shlex.quote(text)} >"
        f" {shlex.quote(path)}"
        for path, text in files.items()
    ]
    return "\n".join(lines) + "\n"
