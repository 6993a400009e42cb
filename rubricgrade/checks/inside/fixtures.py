"""Which fixtures of a suite run a test several times, as far as the source says: those with `params`, and hooks."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from rubricgrade.checks.inside.alone import Source, source_of
from rubricgrade.checks.inside.finding import AuthorFault
from rubricgrade.checks.inside.twins import Function

HOOK = "pytest_generate_tests"


@dataclass(frozen=True, slots=True)
class _Fixture:
    several: bool
    everywhere: bool
    asks: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Offer:
    """What a file has for tests: its fixtures by name, those that marks ask for, and whether it has the hook."""

    fixtures: Mapping[str, _Fixture]
    asked: frozenset[str]
    hook: bool


def multiplying(function: Function, file: str, files: Mapping[str, bytes]) -> str:
    """What gives a test parameters that do not stand at the test itself, in words; empty when nothing does.

    Args:
        function: The test.
        file: Its module, which may have fixtures.
        files: Those of the suite, where the module and the conftest.py files above it are looked for.
    """
    fixtures: dict[str, _Fixture] = {}
    asked = {argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)}
    for offer in _around(file, files):
        if offer.hook:
            return HOOK
        fixtures |= offer.fixtures
        asked |= offer.asked
    asked |= {name for name, fixture in fixtures.items() if fixture.everywhere}
    pending, seen = list(asked), set(asked)
    while pending:
        name = pending.pop()
        if (fixture := fixtures.get(name)) is None:
            continue
        if fixture.several:
            return f"the fixture {name}"
        pending += fixture.asks - seen
        seen |= fixture.asks
    return ""


def asked_by_fixtures(file: str, files: Mapping[str, bytes]) -> frozenset[str]:
    """Names of what the fixtures around a module ask for: a parameter of that name changes more than a comparison."""
    return frozenset(
        name for offer in _around(file, files) for fixture in offer.fixtures.values() for name in fixture.asks
    )


def _around(file: str, files: Mapping[str, bytes]) -> Iterator[_Offer]:
    """What the conftest.py files above a module offer, far ones first, and the module."""
    folders = reversed(PurePosixPath(file).parents)
    for path in [*(str(folder / "conftest.py") for folder in folders), file]:
        if path in files:
            try:
                yield _offer(source_of(files[path], path))
            except AuthorFault:
                continue  # pytest will say so


@functools.lru_cache(maxsize=32)
def _offer(source: Source) -> _Offer:
    nodes = [node for statement in source.body for node in ast.walk(statement)]
    fixtures: dict[str, _Fixture] = {}
    for node in nodes:
        if isinstance(node, Function):
            fixtures |= _fixture(node)
    asked = frozenset(name for node in nodes if isinstance(node, ast.Call) for name in _used_everywhere(node))
    return _Offer(fixtures, asked, any(isinstance(node, Function) and node.name == HOOK for node in nodes))


def _fixture(node: Function) -> dict[str, _Fixture]:
    """A function's fixture by its name, if it is one."""
    for mark in node.decorator_list:
        if "fixture" not in ast.unparse(mark.func if isinstance(mark, ast.Call) else mark):
            continue
        words = {word.arg: word.value for word in mark.keywords} if isinstance(mark, ast.Call) else {}
        name = words.get("name")
        named = name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else node.name
        asks = frozenset(argument.arg for argument in (*node.args.args, *node.args.kwonlyargs))
        return {named: _Fixture("params" in words, "autouse" in words, asks)}
    return {}


def _used_everywhere(call: ast.Call) -> Iterator[str]:
    """Fixtures that a mark asks for by name."""
    if ast.unparse(call.func).endswith("mark.usefixtures"):
        for each in call.args:
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                yield each.value
