"""Which tests a folder has, told from its source as pytest would collect them: nothing of it is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import PurePosixPath

from rubricgrade.checks.inside.alone import Source, source_of
from rubricgrade.checks.inside.finding import AuthorFault
from rubricgrade.checks.inside.twins import Function
from rubricgrade.episode.dialects.making import Unsealable

MODULES = ("test_*.py", "*_test.py")
NOT_ENTERED = ("*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}")
"""Folders that pytest does not look into."""
HOOKS = frozenset({
    "collect_ignore", "collect_ignore_glob", "pytest_collect_directory", "pytest_collect_file",
    "pytest_collection_modifyitems", "pytest_generate_tests", "pytest_ignore_collect", "pytest_itemcollected",
    "pytest_plugins", "pytest_pycollect_makeitem", "pytest_pycollect_makemodule", "pytest_runtest_protocol",
})  # fmt: skip
"""What decides by code which tests there are, or is a plugin that may."""
NO_PASS = (
    "pytest.mark.skip",
    "pytest.mark.xfail",
    "mark.skip",
    "mark.xfail",
    "unittest.skip",
    "unittest.expectedFailure",
)
"""Marks with which a test is expected not to pass."""
CASES = frozenset({"TestCase", "IsolatedAsyncioTestCase"})


def collect(files: Mapping[str, bytes], paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """The tests below some paths.

    Args:
        files: All files, by their paths.
        paths: Folders, and modules whatever they are called.

    Returns:
        Ids of the tests, without parameters, and of those that are marked as none to pass.

    Raises:
        Unsealable: Only code could tell which tests there are.
    """
    ids: list[str] = []
    left_out: list[str] = []
    sources = {path: _source(data, path) for path, data in files.items() if path.endswith(".py")}
    for path, source in sources.items():
        if found := HOOKS & source.bound:
            raise Unsealable(f"{path} has {min(found)}, so only code could tell which tests there are")
    for path in sorted(files):
        name = PurePosixPath(path).name
        if not any(_is_below(path, each) for each in paths):
            continue
        if fnmatch(name, "test*.txt") and b">>>" in files[path]:
            raise Unsealable(f"{path} is a doctest")
        if path in paths or any(fnmatch(name, form) for form in MODULES):
            for test, skipped in _in_module(path, sources):
                (left_out if skipped else ids).append(f"{path}::{test}")
    return ids, left_out


def _source(data: bytes, path: str) -> Source:
    try:
        return source_of(data, path)
    except AuthorFault as fault:
        raise Unsealable(str(fault)) from None


def _is_below(path: str, folder: str) -> bool:
    """Whether pytest comes to a file from a folder, or from its own path."""
    place = PurePosixPath(path)
    if path == folder:
        return True
    if not place.is_relative_to(folder):
        return False
    between = place.relative_to(folder).parent.parts
    return not any(fnmatch(part, form) for part in between for form in NOT_ENTERED)


def _in_module(path: str, sources: Mapping[str, Source]) -> Iterator[tuple[str, bool]]:
    if path not in sources:
        raise Unsealable(f"{path} is no Python")
    source = sources[path]
    _check_bindings(path, source.body, sources)
    if _switched_off(source.body, path):
        return
    skipped = any(_is_no_pass(mark) for mark in _marks(source.body))
    for node in source.body:
        if isinstance(node, Function) and _is_test(node):
            yield node.name, skipped or _expects_no_pass(node)
        elif isinstance(node, ast.ClassDef):
            for name, off in _in_class(node, source, path):
                yield name, skipped or off


def _in_class(node: ast.ClassDef, source: Source, path: str) -> Iterator[tuple[str, bool]]:
    """Tests of a class, its own and those of the classes of this module that it inherits from."""
    line = [node, *source.ancestors(node)]
    is_case = any(ast.unparse(base).rpartition(".")[2] in CASES for each in line for base in each.bases)
    if not node.name.startswith("Test") and not is_case:
        return
    if source.inherits_unseen(node):
        raise Unsealable(f"{path}: {node.name} inherits from a class that is not in this file, which may have tests")
    functions = {each.name: each for owner in reversed(line) for each in owner.body if isinstance(each, Function)}
    if not is_case and {"__init__", "__new__"} & functions.keys():
        return
    for owner in line:
        _check_bindings(f"{path}: {owner.name}", owner.body, {})
    if _switched_off(node.body, path):
        return
    marks = [mark for owner in line for mark in (*owner.decorator_list, *_marks(owner.body))]
    skipped = any(map(_is_no_pass, marks))
    for function in functions.values():
        if _is_test(function):
            yield f"{node.name}::{function.name}", skipped or _expects_no_pass(function)
    for inner in node.body:
        if isinstance(inner, ast.ClassDef):
            for name, off in _in_class(inner, source, path):
                yield f"{node.name}::{name}", skipped or off


def _check_bindings(path: str, body: Sequence[ast.stmt], sources: Mapping[str, Source]) -> None:
    """See that every test is a plain definition. Raises `Unsealable` for one that only code makes."""
    stems = {PurePosixPath(each).stem for each in sources}
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                continue
            case ast.ImportFrom(module=module, names=names) if (module or "").rpartition(".")[2] in stems:
                made = [each.asname or each.name for each in names]
            case ast.Import() | ast.ImportFrom():
                continue  # from elsewhere come no tests
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ):
                made = [] if value is None or _is_no_function(value) else [name]
            case _:
                made = [
                    each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
                ]
                made += [each.name for each in ast.walk(node) if isinstance(each, Function | ast.ClassDef)]
        for name in made:
            if name == "*" or name.startswith(("test", "Test")):
                raise Unsealable(f"{path} makes {name} by code, so only code could tell which tests there are")


def _is_no_function(value: ast.expr) -> bool:
    """Whether a value is plain data, or an object of a class as it is usually called."""
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).rpartition(".")[2][:1].isupper()
    return not isinstance(value, ast.Name | ast.Attribute | ast.Lambda | ast.IfExp | ast.BoolOp | ast.Subscript)


def _is_test(function: Function) -> bool:
    fixture = any("fixture" in ast.unparse(mark) for mark in function.decorator_list)
    return function.name.startswith("test") and not fixture


def _expects_no_pass(function: Function) -> bool:
    return any(map(_is_no_pass, function.decorator_list))


def _is_no_pass(mark: ast.expr) -> bool:
    marks = mark.elts if isinstance(mark, ast.List | ast.Tuple) else [mark]
    names = [ast.unparse(each.func if isinstance(each, ast.Call) else each) for each in marks]
    return any(name in NO_PASS for name in names)


def _marks(body: Sequence[ast.stmt]) -> Iterator[ast.expr]:
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
                yield value
            case _:
                pass


def _switched_off(body: Sequence[ast.stmt], path: str) -> bool:
    """Whether a module or class says that nothing in it is a test."""
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__test__")], value=ast.Constant(value=bool() as on)):
                if not on:
                    return True
            case ast.Assign(targets=[ast.Name(id="__test__")]):
                raise Unsealable(f"{path} decides by code whether it has tests")
            case _:
                pass
    return False
