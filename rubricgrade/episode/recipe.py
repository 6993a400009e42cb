"""The part of a Dockerfile that this engine can follow: ``WORKDIR``, ``ENV``, ``COPY``, ``RUN`` of one stage.

The base image is not fetched: a sandbox shows this host's own programs. What that changes is kept as notes.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from string import Template as Pattern

from rubricgrade.episode.commands import package_names, read_commands
from rubricgrade.errors import Fault, TemplateError
from rubricgrade.sandbox.interior import ENV, ROOT_PATH

IGNORED = frozenset({"CMD", "ENTRYPOINT", "EXPOSE", "LABEL", "USER", "SHELL", "HEALTHCHECK", "VOLUME", "STOPSIGNAL"})
WORKDIR = "/work"
PATH = f"{ENV}/bin:{ROOT_PATH}"
"""What ``$PATH`` stands for: where this host's programs are inside."""
PROGRAMS = ("/usr", "/bin", "/sbin", "/opt", "/root")
"""Where a file of another image is a program, of which this host has its own."""


@dataclass(frozen=True, slots=True)
class Copy:
    """Files of the build context and the absolute path inside where they go; a folder's content goes there."""

    sources: tuple[str, ...]
    target: str
    into: bool


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a template is made.

    Attributes:
        workdir: Where the agent starts, and what is kept of its work.
        env: Environment of every process.
        copies: In order.
        runs: Shell commands, run once when the template is prepared, in order, after all copies.
        folders: Absolute folders that these commands make.
        packages: Python packages that the image would have: they must be here.
        notes: What was not followed.
    """

    workdir: str = WORKDIR
    env: tuple[tuple[str, str], ...] = ()
    copies: tuple[Copy, ...] = ()
    runs: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_recipe(environment: Path) -> Recipe:
    """The recipe of a task's ``environment/``: its Dockerfile, or all of its files in the work folder.

    Raises:
        TemplateError: The Dockerfile asks for what can't be followed here.
    """
    file = environment / "Dockerfile"
    if file.is_file():
        return _Reader(file).read(file.read_text("utf-8"))
    here = Copy((".",), WORKDIR, into=True)
    return Recipe(copies=(here,) if environment.is_dir() else ())


class _Reader:
    """Goes through one Dockerfile."""

    def __init__(self, file: Path) -> None:
        self.file = str(file)
        self.context = file.parent
        self.workdir = "/"
        self.there = {"/"}
        self.env: dict[str, str] = {}
        self.copies: list[Copy] = []
        self.runs: list[str] = []
        self.folders: list[str] = []
        self.packages: list[str] = []
        self.notes: list[str] = []
        self.stages = 0

    def read(self, text: str) -> Recipe:
        lines = re.sub(r"\\\n", " ", "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#")))
        for number, line in enumerate(lines.splitlines(), 1):
            word, _, rest = line.strip().partition(" ")
            if word:
                self._instruction(word.upper(), rest.strip(), number)
        workdir = WORKDIR if self.workdir == "/" else self.workdir
        return Recipe(
            workdir,
            env=tuple(self.env.items()),
            # What is copied to a folder goes into it, also to one that is only said later to be one.
            copies=tuple(replace(copy, into=copy.into or copy.target in self.there) for copy in self.copies),
            runs=tuple(self.runs),
            folders=tuple(dict.fromkeys(self.folders)),
            packages=tuple(dict.fromkeys(self.packages)),
            notes=tuple(self.notes),
        )

    def _instruction(self, word: str, rest: str, number: int) -> None:
        match word:
            case "FROM":
                self.stages += 1
                if self.stages > 1:
                    raise self._fault("builds in several stages, which only a container provider can", number)
                self.notes.append(f"the base image {rest} is not used: the sandbox shows this host's programs")
            case "WORKDIR":
                self.workdir = str(PurePosixPath(self.workdir, self._filled(rest)))
                self.there.add(self.workdir)
            case "ENV" | "ARG":
                self._variables(rest)
            case "COPY" | "ADD":
                self._copy(rest, number)
            case "RUN":
                self._run(rest)
            case _ if word in IGNORED:
                self.notes.append(f"{word} has no meaning here")
            case _:
                raise self._fault(f"{word} can't be followed here", number)

    def _variables(self, rest: str) -> None:
        pairs = shlex.split(rest)
        if pairs and "=" not in pairs[0]:
            pairs = [f"{pairs[0]}={' '.join(pairs[1:])}"]
        for pair in pairs:
            name, _, value = pair.partition("=")
            self.env[name] = self._filled(value)

    def _run(self, rest: str) -> None:
        words = re.sub(r"^(--[a-z]+(=\S+)?\s+)+", "", rest)  # mounts of a cache and the like
        if words.startswith("["):
            words = shlex.join(json.loads(words))
        commands = read_commands(words, self.workdir)
        self.notes += [f"not run, what this host has is used: {each}" for each in commands.left]
        self.packages += commands.packages
        for name in commands.lists:
            file = self.context / PurePosixPath(name).name
            self.packages += package_names(file.read_text("utf-8", "replace")) if file.is_file() else ()
        self.folders += commands.folders
        self.there |= {*commands.folders}
        if commands.run:
            run = commands.run
            self.runs.append(f"cd {shlex.quote(self.workdir)} && {run}" if self.workdir != "/" else run)

    def _copy(self, rest: str, number: int) -> None:
        words = json.loads(rest) if rest.startswith("[") else shlex.split(rest)
        *sources, target = [self._filled(word) for word in words if not word.startswith("--")]
        if any(word.startswith("--from") for word in words):
            if not target.startswith(PROGRAMS):
                raise self._fault("copies from another stage or image", number)
            self.notes.append(f"not copied, what this host has is used: {rest}")
            return
        if not sources or any(source.startswith(("http://", "https://", "git@")) for source in sources):
            raise self._fault("copies nothing, or from the network", number)
        into = target.endswith(("/", ".")) or len(sources) > 1
        self.copies.append(Copy(tuple(sources), str(PurePosixPath(self.workdir, target)), into))

    def _filled(self, text: str) -> str:
        return Pattern(text.strip("\"'")).safe_substitute({"PATH": PATH, **self.env})

    def _fault(self, message: str, number: int) -> TemplateError:
        return TemplateError(Fault(message, self.file, number))
