"""Tests that came with a task, as a sealed suite: ``tests/rubric.yaml`` and the sealed files beside it."""

from __future__ import annotations

import ast
import importlib.util
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from rubricgrade.checks.inside.alone import source_of
from rubricgrade.checks.inside.finding import AuthorFault
from rubricgrade.checks.inside.planning import Planned, is_covered_in_part, planned, twin_of
from rubricgrade.checks.inside.twins import Function
from rubricgrade.episode.dialects.making import Unsealable
from rubricgrade.episode.dialects.settings import Settings
from rubricgrade.errors import InputError
from rubricgrade.loading import load_rubric
from rubricgrade.loading.yamltext import to_yaml

ID = re.compile(r"(?P<file>[^:\[\]\\]+\.py)::[^\W\d]\w*(?:::[^\W\d]\w*)*(?:\[.*\])?", re.DOTALL)
"""An id as pytest gives it to a test in a module of Python."""
ROOT = "sealed/repository"
CONFIG = "sealed/pytest.ini"
MOST_ALONE = 50
"""Tests up to which each has processes of its own. Two of them take about half a second of one core."""
SECONDS = 600
"""As a script of tests has them."""
MOST_BESIDE = 8 << 20
"""Bytes that lie beside each test: each process is sent them."""
MOST_NAMED = 5
UNTWINNED = "no wrong value can be put into these tests, so code that tampers with its own tests could pass them"
IN_PART = "a wrong value can be put into some assertions of these tests only, so code could tamper with the others"
PLUGINS = {
    "mocker": "pytest_mock",
    "requests_mock": "requests_mock.contrib._pytest_plugin",
    "httpx_mock": "pytest_httpx",
    "benchmark": "pytest_benchmark.plugin",
    "fs": "pyfakefs.pytest_plugin",
}
"""Modules of well-known plugins by the fixtures that tests ask them for."""
MARKS = {"asyncio": "pytest_asyncio.plugin", "anyio": "anyio.pytest_plugin"}
"""The same by the marks that tests carry."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate over planned tests.

    Attributes:
        id: Its id.
        key: The list of the check that they go to.
        description: What it asks.
        ids: Ids of the tests.
    """

    id: str
    key: str
    description: str
    ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class Suite:
    """What is to be sealed.

    Attributes:
        files: By their place in the work folder: the tests' modules, and what is laid there beside them.
        gates: What the tests decide.
        shown: Those of the files that the agent's work folder has as they are.
        settings: Pytest's.
        pythonpath: Folders to import from.
        keep: Folders of which nothing is taken of the agent's.
        modules: Names of what can be imported from the work folder once the task is solved; None if that is unknown.
    """

    files: Mapping[str, bytes]
    gates: Sequence[Gate]
    settings: Settings
    shown: frozenset[str] = frozenset()
    pythonpath: Sequence[str] = (".",)
    keep: Sequence[str] = ()
    modules: frozenset[str] | None = None


def file_of(test: str) -> str:
    """The module of a test's id. Raises `Unsealable` when it is no id of pytest's, or leads out of the folder."""
    match = ID.fullmatch(test)
    if match is None or not test.isprintable():
        raise Unsealable(f"{test!r} is no id that pytest gives a test")
    parts = PurePosixPath(match["file"])
    if parts.is_absolute() or ".." in parts.parts or str(parts) != match["file"]:
        raise Unsealable(f"{test!r} leads out of the folder")
    return match["file"]


def seal(suite: Suite, tests: Path, title: str) -> list[str]:
    """Write ``rubric.yaml`` and ``sealed/`` into a task's ``tests/``; nothing of the suite is run.

    Args:
        suite: What to seal.
        tests: The folder, which is there.
        title: The rubric's.

    Returns:
        What whoever imports it should know.

    Raises:
        Unsealable: The plan can't be carried out; nothing was written.
    """
    try:
        plans = [planned(gate.ids, suite.files) for gate in suite.gates]
        alone = [test.name for plan in plans for test in plan if twin_of(test, suite.files, 0) is None]
        in_part = [test.name for plan in plans for test in plan if is_covered_in_part(test, suite.files)]
        modules = {test.file for plan in plans for test in plan}
        _check_imports(modules, suite)
        plugins = sorted({*suite.settings.plugins, *_plugins(modules, suite.files)})
    except AuthorFault as fault:
        raise Unsealable(str(fault)) from None
    except RecursionError:
        raise Unsealable("a module of tests is nested too deeply") from None
    beside = sum(len(data) for path, data in suite.files.items() if path not in modules)
    if beside > MOST_BESIDE:
        raise Unsealable(f"{beside >> 20} MiB lie beside the tests, more than each process can be sent")
    _write(suite, plans, plugins, tests, title)
    try:
        load_rubric(tests / "rubric.yaml")
    except InputError as error:
        shutil.rmtree(tests / "sealed")
        (tests / "rubric.yaml").unlink()
        raise Unsealable(f"the rubric would be wrong: {error.faults[0].message}") from None
    doubts = [_named(told, names) for told, names in ((UNTWINNED, alone), (IN_PART, in_part)) if names]
    return [*_notes(suite, plans, plugins), *doubts]


def _write(suite: Suite, plans: Sequence[Sequence[Planned]], plugins: Sequence[str], tests: Path, title: str) -> None:
    for path, data in suite.files.items():
        place = tests / ROOT / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    if suite.settings.ini:
        (tests / CONFIG).write_text(suite.settings.ini, "utf-8")
    modules = {test.file for plan in plans for test in plan}
    checks: dict[str, Any] = {}
    for gate, plan in zip(suite.gates, plans, strict=True):
        files = sorted(suite.files.keys() - (modules - suite.shown - {test.file for test in plan}))
        shown = sorted(suite.shown & {*files})
        spec: dict[str, Any] = {
            "root": ROOT,
            "files": [f"{ROOT}/{path}" for path in files],
            "shown": [f"{ROOT}/{path}" for path in shown],
            gate.key: list(gate.ids),
            "keep": list(suite.keep),
            "pythonpath": list(suite.pythonpath),
            "config": CONFIG if suite.settings.ini else None,
            "plugins": list(plugins),
            "isolate": _isolation(plan, suite.files),
        }
        checks[gate.id] = {"pytest": {key: value for key, value in spec.items() if value}, "timeout": SECONDS}
    gates = [{"id": gate.id, "description": gate.description, "check": gate.id} for gate in suite.gates]
    text = to_yaml({"id": tests.parent.name, "title": title, "checks": checks, "gates": gates})
    (tests / "rubric.yaml").write_text(text, "utf-8")


def _isolation(plan: Sequence[Planned], files: Mapping[str, bytes]) -> str:
    """Tests that share a process each have a module of a name of its own, by which no text of theirs calls it."""
    by_name = any(_calls_itself(file, files[file]) for file in {test.file for test in plan})
    return "test" if len(plan) <= MOST_ALONE or by_name else "file"


def _calls_itself(file: str, data: bytes) -> bool:
    """Whether a text in a module, such as what `mock.patch` is given, names something in it."""
    own = re.compile(rf"(?:^|\.){re.escape(PurePosixPath(file).stem)}\.")
    nodes = [node for statement in source_of(data, file).body for node in ast.walk(statement)]
    return any(
        isinstance(node, ast.Constant) and isinstance(node.value, str) and own.search(node.value) for node in nodes
    )


def _check_imports(modules: set[str], suite: Suite) -> None:
    """A module of tests is not there while another's tests run, unless the agent's work folder has it as it is."""
    hidden = {PurePosixPath(module).stem: module for module in modules - suite.shown}
    for path in sorted(path for path in suite.files if path.endswith(".py")):
        for node in ast.walk(ast.Module([*source_of(suite.files[path], path).body], [])):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                other = hidden.get(name.rpartition(".")[2])
                if other is not None and other != path:
                    raise Unsealable(f"{path} imports {other}, which is hidden while tests of others run")


def _missing(suite: Suite, modules: set[str]) -> Iterator[str]:
    """What modules of tests and conftest.py files import as they are loaded, and what is nowhere."""
    if suite.modules is None:
        return
    beside = {PurePosixPath(path).parts[0].removesuffix(".py") for path in suite.files}
    beside |= {PurePosixPath(path).stem for path in suite.files}
    names: set[str] = set()
    for path in suite.files:
        if path in modules or PurePosixPath(path).name == "conftest.py":
            for node in source_of(suite.files[path], path).body:
                match node:
                    case ast.Import(names=aliases):
                        names |= {alias.name.partition(".")[0] for alias in aliases}
                    case ast.ImportFrom(module=str(module), level=0):
                        names.add(module.partition(".")[0])
                    case _:
                        pass
    for name in names - beside - suite.modules - sys.stdlib_module_names:
        # What is loaded is there; of some of it, such as `__main__`, no more can be told.
        if name not in sys.modules and importlib.util.find_spec(name) is None:
            yield name


def _plugins(modules: set[str], files: Mapping[str, bytes]) -> Iterator[str]:
    """Plugins that tests seem to ask for, by fixtures that no file of the suite defines, and by marks."""
    functions = [
        node
        for path in files
        if path in modules or PurePosixPath(path).name == "conftest.py"
        for statement in source_of(files[path], path).body
        for node in ast.walk(statement)
        if isinstance(node, Function)
    ]
    own = {function.name for function in functions}
    asked = {name for function in functions for name in _fixtures(function)} - own
    yield from (module for name, module in PLUGINS.items() if name in asked)
    text = b"".join(data for path, data in files.items() if path in modules)
    yield from (module for mark, module in MARKS.items() if f"mark.{mark}".encode() in text)


def _fixtures(function: Function) -> Iterator[str]:
    """What a function asks for that no parameter of its own gives it."""
    given = {
        name.strip()
        for mark in function.decorator_list
        if isinstance(mark, ast.Call) and mark.args and isinstance(mark.args[0], ast.Constant)
        for name in str(mark.args[0].value).split(",")
    }
    yield from (argument.arg for argument in function.args.args if argument.arg not in given)


def _notes(suite: Suite, plans: Sequence[Sequence[Planned]], plugins: Sequence[str]) -> Iterator[str]:
    numbers = " and ".join(f"{len(plan)} for {gate.id}" for gate, plan in zip(suite.gates, plans, strict=True))
    yield f"the tests ({numbers}) are a sealed pytest suite in tests/rubric.yaml; none of the agent's own is run"
    if shared := [
        gate.id for gate, plan in zip(suite.gates, plans, strict=True) if _isolation(plan, suite.files) == "file"
    ]:
        yield (
            f"{', '.join(shared)}: more than {MOST_ALONE} tests, so those of a file share a process (isolate: file), "
            "which is faster and weaker; isolate: test keeps them apart"
        )
    yield (
        "what the agent does to tests, conftest.py and configuration (pytest.ini, setup.cfg, setup.py, pyproject.toml, "
        "tox.ini) does not count: they stay as they were"
    )
    if suite.keep:
        yield f"nor does what it does in {', '.join(suite.keep)}"
    settings = suite.settings
    if settings.file:
        taken = "its settings are sealed as well" if settings.ini else "none of its settings is needed"
        left = f", but not {', '.join(settings.left_out)}" if settings.left_out else ""
        yield f"pytest was configured by {settings.file}: {taken}{left}"
    if missing := sorted(_missing(suite, {test.file for plan in plans for test in plan})):
        told = "the tests import what is neither in the repository nor installed here, and fail without"
        yield f"{told}: {', '.join(missing)}"
    if plugins:
        yield f"the tests need plugins of pytest, which must be installed here: {', '.join(plugins)}"


def _named(told: str, names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if names[MOST_NAMED:] else ""
    return f"{told}: {', '.join(names[:MOST_NAMED])}{more}"
