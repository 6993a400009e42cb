"""A task: a Harbor task directory with a rubric in ``tests/``. What the agent may see is apart from what it may not.

``task.toml``, ``instruction.md`` (or ``steps/`` with one each), ``environment/``, ``solution/``, ``tests/`` (hidden),
and ``tools/`` for tools that run outside the sandbox. Our own settings stand in ``[metadata.rubricgrade]``.
"""

from __future__ import annotations

import tomllib
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rubricgrade import digest, tree
from rubricgrade.episode import harbor
from rubricgrade.episode.copying import links_out
from rubricgrade.episode.harbor import NAME, Verifier, table
from rubricgrade.episode.limits import Limits
from rubricgrade.episode.recipe import WORKDIR, read_recipe
from rubricgrade.episode.stepping import Step, read_steps
from rubricgrade.episode.verifier import script_rubric
from rubricgrade.errors import Fault, InputError, TemplateError
from rubricgrade.loading import load_rubric
from rubricgrade.misfits import misfits
from rubricgrade.rubric import Rubric
from rubricgrade.trajectory import RESERVED

BUILT_IN = ("bash", "read_file", "edit_file")
HASHED = ("task.toml", "instruction.md", "environment", "tests", "steps", "tools")
READ = (*HASHED, "solution")


class Settings(BaseModel):
    """``[metadata.rubricgrade]`` of a ``task.toml``.

    Attributes:
        tools: Built-in tools that the agent may call.
        outside: The file with the task's own tools, such as ``tools/office.py``.
        pass_mark: The score from which an attempt counts as solved, above 0 and up to 1.
        max_steps: Replies that the agent may make.
        system: The agent's system prompt, in place of the usual one.
        needs_image: Whether files of the task are in the base image: then it is refused where images are not fetched.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    tools: Annotated[list[str], Field(max_length=len(BUILT_IN))] = list(BUILT_IN)
    outside: str | None = None
    pass_mark: Annotated[float, Field(gt=0, le=1)] = 1.0
    max_steps: Annotated[int, Field(ge=1)] | None = None
    system: str | None = None
    needs_image: bool = False


class Task(BaseModel):
    """A task as it lies on disk.

    Attributes:
        id: The folder's name: names the task in runs.
        folder: Where it lies.
        instruction: All that the agent is told; of several steps, all of theirs.
        steps: What it is told one after the other, if the task has several steps.
        final: Whether the last step that was made decides the reward, and not the mean of all.
        settings: Ours.
        metadata: Category, difficulty and the like. Never shown to the agent.
        artifacts: Globs of the workspace files that are the agent's work; empty means all that changed.
        verifier: How a plain Harbor task is verified.
        workdir: The work folder, where the task names another one than its Dockerfile.
        env: Environment besides the Dockerfile's.
        seconds: Wall time of the agent, if the task limits it.
        network: Whether the task asks for the internet; a run has to allow it besides.
        memory: Bytes of memory of a sandbox, if the task says so.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    folder: Path
    instruction: str
    steps: tuple[Step, ...] = ()
    final: bool = False
    settings: Settings = Settings()
    metadata: dict[str, Any] = {}
    artifacts: tuple[str, ...] = ()
    verifier: Verifier = Verifier()
    workdir: str | None = None
    env: dict[str, str] = {}
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
        if not (folder / "task.toml").is_file():
            what = "is no task directory: there is no task.toml in it" if folder.is_dir() else "no such task directory"
            raise InputError(Fault(what, str(path)))
        faults: list[Fault] = []
        task = cls._read(folder, faults)
        if faults or task is None:
            raise InputError(faults)
        return task

    @classmethod
    def _read(cls, folder: Path, faults: list[Fault]) -> Self | None:
        if not NAME.match(folder.name):
            faults.append(Fault("a task's folder is named with letters, digits, '.', '_' and '-'", str(folder)))
        if folder.name.casefold() in RESERVED:
            faults.append(
                Fault(f"a task is not called {folder.name!r}, which means something else in a run", str(folder))
            )
        # All of these are read, and some are shown to an agent: what lies elsewhere on this host is not the task's.
        # What is hidden from the agent is not shown to it by a link either.
        away = [*links_out(folder, READ), *links_out(folder / "environment")]
        if away:
            faults += dict.fromkeys(away)
            return None
        file = folder / "task.toml"
        about = _table(file, faults)
        metadata, environment, agent = (table(about, name) for name in ("metadata", "environment", "agent"))
        settings = _settings(folder, metadata.pop("rubricgrade", {}), faults)
        harbor.refuse(about, folder, faults)
        steps = read_steps(about, folder, faults)
        task = cls(
            id=folder.name,
            folder=folder,
            instruction="\n\n".join(step.instruction for step in steps)
            or harbor.read_instruction(folder / "instruction.md", faults),
            steps=steps,
            final=about.get("multi_step_reward_strategy") == "final",
            settings=settings,
            metadata=metadata,
            verifier=harbor.read_verifier(about, str(file), faults),
            workdir=environment.get("workdir"),
            env=harbor.environment_of(environment, "environment.env", str(file), faults),
            seconds=float(agent["timeout_sec"]) if _is_number(agent.get("timeout_sec")) else None,
            network=environment.get("allow_internet") is True or environment.get("network_mode") == "public",
            memory=harbor.megabytes(environment),
        )
        if steps and settings.outside is not None:
            faults.append(Fault("a task has several steps or tools outside the sandbox, not both", str(file)))
        if any(step.least is not None for step in steps) and not task.by_script:
            faults.append(
                Fault("steps.min_reward: only test scripts reward steps; leave out tests/rubric.yaml", str(file))
            )
        task = task.model_copy(update={"artifacts": _artifacts(task, about, faults)})
        try:
            _ = task.rubric
        except InputError as error:
            faults += error.faults
        return task

    @cached_property
    def rubric(self) -> Rubric:
        """``tests/rubric.yaml`` with ``tests/vars.yaml``; else one criterion for what ``tests/test.sh`` rewards."""
        if not self.by_script:
            tests = self.folder / "tests"
            overrides = tests / "vars.yaml"
            return load_rubric(tests / "rubric.yaml", vars=overrides if overrides.is_file() else None)
        names = [step.name for step in self.steps]
        return script_rubric(self.folder, self.verifier, names, artifacts=self.artifacts, final=self.final)

    @property
    def by_script(self) -> bool:
        """Whether it is graded by a plain Harbor test script, for lack of a rubric."""
        tests = self.folder / "tests"
        scripts = [tests / "test.sh", *(self.folder / "steps" / step.name / "tests" / "test.sh" for step in self.steps)]
        return not (tests / "rubric.yaml").is_file() and any(script.is_file() for script in scripts)

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
            parallel=base.parallel,
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


def _artifacts(task: Task, about: dict[str, Any], faults: list[Fault]) -> tuple[str, ...]:
    """What counts as the agent's work. A script that runs where the agent did sees everything, as it does in Harbor."""
    file = str(task.folder / "task.toml")
    try:
        workdir = task.workdir or read_recipe(task.folder / "environment").workdir
    except TemplateError:
        workdir = WORKDIR  # what is wrong with it is told where it is to be made
    found = harbor.read_artifacts(about, workdir, file, faults)
    if not task.by_script:
        return found
    if task.verifier.apart and not found:
        message = "artifacts: the verifier runs apart and gets nothing else of the work folder; name what it is to get"
        faults.append(Fault(message, file))
    return found if task.verifier.apart else ()


def _settings(folder: Path, given: Any, faults: list[Fault]) -> Settings:
    file = str(folder / "task.toml")
    try:
        settings = Settings.model_validate(given)
    except ValidationError as error:
        faults += [Fault(f"metadata.rubricgrade: {told}", file) for told in misfits(error)]
        return Settings()
    unknown = sorted({*settings.tools} - {*BUILT_IN})
    faults += [Fault(f"metadata.rubricgrade.tools: there is no built-in tool {name!r}", file) for name in unknown]
    outside = settings.outside
    if outside is not None and (".." in Path(outside).parts or not (folder / "tools" / Path(outside).name).is_file()):
        faults.append(Fault(f"metadata.rubricgrade.outside: there is no {outside!r}; such tools lie in tools/", file))
    return settings


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
