"""A vendor's folder: ``task.yaml``, an environment, hidden tests, and a script that runs them."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any, cast

from rubricgrade.episode.beginning import begun
from rubricgrade.episode.copying import JUNK, copied, links_out
from rubricgrade.episode.dialects.collecting import MODULES, collect
from rubricgrade.episode.dialects.commands import Command, read_command
from rubricgrade.episode.dialects.making import (
    UNSAFE,
    Imported,
    Unsealable,
    check_name,
    refusing,
    write_solution,
    write_task,
)
from rubricgrade.episode.dialects.patches import plain_file
from rubricgrade.episode.dialects.sealing import Gate, Suite, seal
from rubricgrade.episode.dialects.settings import read_settings
from rubricgrade.episode.recipe import WORKDIR, read_recipe
from rubricgrade.episode.task import BUILT_IN
from rubricgrade.errors import Fault, InputError, TemplateError
from rubricgrade.loading import read_data

PARTS = ("task.yaml", "Dockerfile", "tools.json", "tests", "solution.patch", "grade.sh")
TOLD = frozenset({"instruction", "prompt", "tools", "max_steps", "timeout", "workdir", "id"})
"""Keys of a ``task.yaml`` that mean something to us. All others are metadata, which the agent never sees."""
LIMITS = ("timeout", "memory", "cpu", "limit")
"""What names of keys have in them that set limits in other harnesses."""
BASE = "python:3.13-slim"
LARGEST = 32 << 20
"""Bytes of a sealed file."""
GRADE = """#!/bin/bash
# Restores the sealed tests over whatever the agent made of them, and rewards by the exit code of grade.sh.
mkdir -p /logs/verifier tests
cp -r /tests/tests/. tests/
if bash /tests/grade.sh; then reward=1; else reward=0; fi
echo "$reward" > /logs/verifier/reward.txt
"""


def import_vendor(source: Path, target: Path) -> Imported:
    """Make a task directory from a vendor's folder.

    Args:
        source: Holds ``task.yaml``, and ``Dockerfile``, ``tools.json``, ``tests/``, ``solution.patch``, ``grade.sh``;
            whatever else lies there is the build context.
        target: The task directory to make.

    Raises:
        InputError: It is no such folder, a link leads out of it, or the target is there.
    """
    with refusing(str(source)):
        return _imported(source, target)


def _imported(source: Path, target: Path) -> Imported:
    if away := [*links_out(source)]:
        raise InputError(away)
    file = source / "task.yaml"
    about = _map(file)
    instruction: Any = about.get("instruction") or about.get("prompt")
    faults = [] if isinstance(instruction, str) else [Fault("has no instruction", str(file))]
    if not (source / "grade.sh").is_file():
        faults.append(Fault("is needed, a file", str(source / "grade.sh")))
    if not (source / "tests").is_dir():
        faults.append(Fault("is needed, a folder", str(source / "tests")))
    if faults:
        raise InputError(faults)
    check_name(target)
    with begun(target):
        tools, notes = _tools(source, about)
        settings = {"tools": tools, "max_steps": about.get("max_steps")}
        others = {key: value for key, value in about.items() if key not in TOLD}
        write_task(target, cast("str", instruction), settings, others)
        if limits := [key for key in others if any(word in key.lower() for word in LIMITS)]:
            notes.append(f"kept as a remark, without effect here: {', '.join(limits)}")
        environment = target / "environment"
        copied(source, environment, skip=lambda path: str(path) in PARTS)
        workdir = str(about.get("workdir") or WORKDIR)
        if (source / "Dockerfile").is_file():
            shutil.copy(source / "Dockerfile", environment / "Dockerfile")
        else:
            (environment / "Dockerfile").write_text(f"FROM {BASE}\nWORKDIR {workdir}\nCOPY . {workdir}/\n")
            notes.append(f"it has no Dockerfile: its files lie in {workdir}, on {BASE}; a key workdir says where else")
        (target / "tests").mkdir()
        try:
            notes += seal(_suite(source, environment), target / "tests", target.name)
        except Unsealable as reason:
            copied(source / "tests", target / "tests" / "tests")
            shutil.copy(source / "grade.sh", target / "tests" / "grade.sh")
            (target / "tests" / "test.sh").write_text(GRADE)
            notes.append(f"{reason}, so grade.sh runs {UNSAFE}")
        if (source / "solution.patch").is_file():
            write_solution(target, (source / "solution.patch").read_bytes())
    return Imported(target, tuple(notes))


def _suite(source: Path, environment: Path) -> Suite:
    """All tests that the script runs. Raises `Unsealable` when they can't be sealed, or can't be told."""
    try:
        workdir = read_recipe(environment).workdir
    except TemplateError:
        workdir = WORKDIR  # what is wrong with it is told where it is to be made
    command = read_command((source / "grade.sh").read_text("utf-8", "replace"), workdir)
    files = dict(_files(source))
    around = plain_file(source, "conftest.py")
    if around is not None:
        files["conftest.py"] = around
    ids, left_out = collect(files, _paths(command, source))
    if not ids:
        raise Unsealable("grade.sh finds no test that is expected to pass")

    def read(path: str) -> bytes | None:
        return files.get(path) if path.startswith("tests/") else plain_file(source, path)

    settings = read_settings([test.partition("::")[0] for test in ids], read)
    if settings.choosing:
        raise Unsealable(f"{settings.file} decides which tests there are: {', '.join(settings.choosing)}")
    told = f", but for {len(left_out)} that are marked as not to pass" if left_out else ""
    return Suite(
        files,
        [Gate("tests", "fail_to_pass", f"all tests pass{told}", ids)],
        settings,
        frozenset({"conftest.py"} & files.keys()),
        tuple(dict.fromkeys((".", *command.pythonpath, *settings.pythonpath))),
    )


def _paths(command: Command, source: Path) -> list[str]:
    """Where the script looks for tests, if that is in the hidden ones only."""
    paths = [path for path in command.paths if path != "."]
    if others := [path for path in paths if PurePosixPath(path).parts[0] != "tests"]:
        raise Unsealable(f"grade.sh also runs {others[0]}, which is not among the hidden tests")
    if missing := [path for path in paths if not (source / path).exists()]:
        raise Unsealable(f"grade.sh runs {missing[0]}, which is not there")
    if paths and len(paths) == len(command.paths):
        return paths
    seen = (PurePosixPath(path) for path in _walk(source) if path.partition("/")[0] not in PARTS)
    if found := sorted(str(path) for path in seen if any(fnmatch(path.name, form) for form in MODULES)):
        raise Unsealable(f"grade.sh runs all tests of the work folder, and {found[0]} is none of the hidden ones")
    return ["tests"]


def _files(source: Path) -> Iterator[tuple[str, bytes]]:
    """The hidden tests and all that lies beside them, by their place in the work folder."""
    for path in _walk(source / "tests"):
        place = source / "tests" / path
        if place.is_symlink():
            raise Unsealable(f"tests/{path} is a symbolic link")
        if not stat.S_ISREG(place.stat().st_mode):
            raise InputError(Fault("is no file, folder or link", str(place)))
        if place.stat().st_size > LARGEST:
            raise Unsealable(f"tests/{path} has more than {LARGEST >> 20} MiB")
        if not path.isprintable() or "\\" in path:
            raise Unsealable(f"tests/{path!r} is no path to seal a file at")
        yield f"tests/{path}", place.read_bytes()


def _walk(folder: Path) -> Iterator[str]:
    """Files, and links to folders, without what running Python leaves behind."""
    for at, folders, files in os.walk(folder):
        links = [each for each in folders if Path(at, each).is_symlink()]
        folders[:] = [each for each in folders if each != JUNK]
        for each in (*files, *links):
            if not each.endswith(".pyc"):
                yield Path(at, each).relative_to(folder).as_posix()


def _data(file: Path) -> Any:
    try:
        return read_data(file.read_bytes(), str(file))
    except OSError as error:
        raise InputError(Fault(f"can't be read: {error.strerror}", str(file))) from None


def _map(file: Path) -> dict[str, Any]:
    data = _data(file)
    if not isinstance(data, dict):
        raise InputError(Fault("a map is needed here", str(file)))
    return cast("dict[str, Any]", data)


def _tools(source: Path, about: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The built-in tools that are named, and a note on the others."""
    given: Any = about.get("tools")
    file = source / "tools.json"
    if given is None and file.is_file():
        given = _data(file)
    names = [_tool_name(item) for item in cast("list[Any]", given)] if isinstance(given, list) else list(BUILT_IN)
    unknown = [name for name in names if name not in BUILT_IN]
    notes = [f"no tool is called {', '.join(unknown)} here; write them in tools/"] if unknown else []
    return [name for name in names if name in BUILT_IN], notes


def _tool_name(item: Any) -> str:
    match item:
        case {"name": name} | {"function": {"name": name}}:
            return str(name)
        case _:
            return str(item)
