"""A task: a Harbor task directory with a rubric in ``tests/``. What the agent may see is apart from what it may not.

``task.toml``, ``instruction.md``, ``environment/``, ``solution/``, ``tests/`` (hidden), and ``tools/`` for tools that
run outside the sandbox. Our own settings stand in ``[metadata.rubricgrade]``.
"""

from __future__ import annotations

import re
import tomllib
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Self, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rubricgrade import digest, tree
from rubricgrade.episode.limits import Limits
from rubricgrade.episode.verifier import script_rubric
from rubricgrade.errors import Fault, InputError
from rubricgrade.loading import load_rubric
from rubricgrade.rubric import Rubric

BUILT_IN = ("bash", "read_file", "edit_file")
NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}\Z")
HASHED = ("task.toml", "instruction.md", "environment", "tests", "tools")


class Settings(BaseModel):
    """``[metadata.rubricgrade]`` of a ``task.toml``.

    Attributes:
        tools: Built-in tools that the agent may call.
        outside: The file with the task's own tools, such as ``tools/office.py``.
        pass_mark: The score from which an attempt counts as solved, 0 to 1.
        max_steps: Replies that the agent may make.
        system: The agent's system prompt, in place of the usual one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    tools: Annotated[list[str], Field(max_length=len(BUILT_IN))] = list(BUILT_IN)
    outside: str | None = None
    pass_mark: Annotated[float, Field(ge=0, le=1)] = 1.0
    max_steps: Annotated[int, Field(ge=1)] | None = None
    system: str | None = None


class Task(BaseModel):
    """A task as it lies on disk.

    Attributes:
        id: The folder's name: names the task in runs.
        folder: Where it lies.
        instruction: All that the agent is told.
        settings: Ours.
        metadata: Category, difficulty and the like. Never shown to the agent.
        artifacts: Globs of the workspace files that are the agent's work; empty means all that changed.
        seconds: Wall time of the agent, if the task limits it.
        network: Whether the task asks for the internet; a run has to allow it besides.
        memory: Bytes of memory of a sandbox, if the task says so.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    folder: Path
    instruction: str
    settings: Settings = Settings()
    metadata: dict[str, Any] = {}
    artifacts: tuple[str, ...] = ()
    seconds: float | None = None
    network: bool = False
    memory: int | None = None

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a task directory.

        Raises:
            InputError: With all that is wrong with it, the rubric's faults included.
        """
        folder = Path(path).resolve()
        if not folder.is_dir():
            raise InputError(Fault("no such task directory", str(path)))
        faults: list[Fault] = []
        task = cls._read(folder, faults)
        if faults or task is None:
            raise InputError(faults)
        return task

    @classmethod
    def _read(cls, folder: Path, faults: list[Fault]) -> Self | None:
        if not NAME.match(folder.name):
            faults.append(Fault("a task's folder is named with letters, digits, '.', '_' and '-'", str(folder)))
        about = _table(folder / "task.toml", faults)
        instruction = _text(folder / "instruction.md", faults)
        metadata = _section(about, "metadata")
        settings = _settings(folder, metadata.pop("rubricgrade", {}), faults)
        environment, agent = _section(about, "environment"), _section(about, "agent")
        memory: Any = environment.get("memory_mb")
        task = cls(
            id=folder.name,
            folder=folder,
            instruction=instruction.strip(),
            settings=settings,
            metadata=metadata,
            artifacts=_globs(about, folder, faults),
            seconds=float(agent["timeout_sec"]) if _is_number(agent.get("timeout_sec")) else None,
            network=environment.get("allow_internet") is True or environment.get("network_mode") == "public",
            memory=int(memory) << 20 if _is_number(memory) else None,
        )
        try:
            _ = task.rubric
        except InputError as error:
            faults += error.faults
        return task

    @cached_property
    def rubric(self) -> Rubric:
        """``tests/rubric.yaml`` with ``tests/vars.yaml``; else a gate on what ``tests/test.sh`` rewards."""
        tests = self.folder / "tests"
        if not self.by_script:
            overrides = tests / "vars.yaml"
            return load_rubric(tests / "rubric.yaml", vars=overrides if overrides.is_file() else None)
        return script_rubric(tests, self.id)

    @property
    def by_script(self) -> bool:
        """Whether it is graded by a plain Harbor test script, for lack of a rubric."""
        tests = self.folder / "tests"
        return not (tests / "rubric.yaml").is_file() and (tests / "test.sh").is_file()

    @property
    def category(self) -> str:
        """For reports; empty when the task names none."""
        return str(self.metadata.get("category", ""))

    @cached_property
    def hash(self) -> str:
        """``sha256:...`` of all that decides what an episode is and how it is graded."""
        parts = {name: self.folder / name for name in HASHED}
        return digest.of_value({name: _digest(part) for name, part in parts.items() if part.exists()})

    def limits(self, base: Limits | None = None) -> Limits:
        """The task's own limits where it has any, within those of the caller."""
        base = base or Limits()
        steps, seconds = self.settings.max_steps, self.seconds
        return Limits(
            max_steps=base.max_steps if steps is None else min(steps, base.max_steps),
            seconds=base.seconds if seconds is None else min(seconds, base.seconds),
            tokens=base.tokens,
            cost=base.cost,
            shown=base.shown,
        )


def _digest(path: Path) -> str:
    return tree.digest(path) if path.is_dir() else digest.of_file(path)


def _table(file: Path, faults: list[Fault]) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        faults.append(Fault(f"can't be read: {error.strerror}", str(file)))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        faults.append(Fault(f"is no TOML: {error}", str(file)))
    return {}


def _text(file: Path, faults: list[Fault]) -> str:
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        faults.append(Fault(f"can't be read as text: {error}", str(file)))
        return ""
    if not text.strip():
        faults.append(Fault("is empty: it is all that the agent is told", str(file)))
    return text


def _section(table: dict[str, Any], name: str) -> dict[str, Any]:
    found = table.get(name)
    return dict(cast("dict[str, Any]", found)) if isinstance(found, dict) else {}


def _settings(folder: Path, given: Any, faults: list[Fault]) -> Settings:
    file = str(folder / "task.toml")
    try:
        settings = Settings.model_validate(given)
    except ValidationError as error:
        for each in error.errors(include_url=False):
            place = ".".join(str(part) for part in ("metadata.rubricgrade", *each["loc"]))
            faults.append(Fault(f"{place}: {each['msg']}", file))
        return Settings()
    unknown = sorted({*settings.tools} - {*BUILT_IN})
    faults += [Fault(f"metadata.rubricgrade.tools: there is no built-in tool {name!r}", file) for name in unknown]
    outside = settings.outside
    if outside is not None and (".." in Path(outside).parts or not (folder / "tools" / Path(outside).name).is_file()):
        faults.append(Fault(f"metadata.rubricgrade.outside: there is no {outside!r}; such tools lie in tools/", file))
    return settings


def _globs(about: dict[str, Any], folder: Path, faults: list[Fault]) -> tuple[str, ...]:
    given: Any = about.get("artifacts", [])
    found = cast("list[Any]", given) if isinstance(given, list) else [given]
    if bad := [glob for glob in found if not isinstance(glob, str)]:
        faults.append(Fault(f"artifacts: only paths as text are known here, not {bad[0]!r}", str(folder / "task.toml")))
        return ()
    return tuple(found)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
