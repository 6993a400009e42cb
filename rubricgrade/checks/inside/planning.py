"""Which tests a sealed suite has to run: planned ids against the suite's own source, never whatever was collected.

Each planned test becomes a module that holds this one test alone: of the rest of its file only what it needs, of its
parameters only its row. So the process that runs it holds no other test's expected value, and its twin looks like it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from rubricgrade.checks.inside.finding import AuthorFault
from rubricgrade.checks.inside.parameters import Table, ids, tables
from rubricgrade.checks.inside.tested import TestRun
from rubricgrade.checks.inside.twins import Function, expected_values, make_wrong


@dataclass(frozen=True, slots=True)
class Planned:
    """One test that has to be run.

    Attributes:
        name: Its id, for people.
        file: Path of its module in the suite.
        path: Names of the class, if any, and the function.
        brackets: The part of its id in brackets, when that is looked for where it runs.
        rows: Which row of each of its tables is its own; None when they can't be read from the source.
    """

    name: str
    file: str
    path: tuple[str, ...]
    brackets: str
    rows: tuple[int, ...] | None

    @property
    def select(self) -> str:
        """What to look for among the collected tests of its module."""
        return "::".join(self.path) + self.brackets


def planned(names: Sequence[str], files: Mapping[str, bytes]) -> list[Planned]:
    """The tests of some ids; one without brackets stands for all rows of its test.

    Raises:
        AuthorFault: An id names no file of the suite, or no test in it.
    """
    known: dict[tuple[str, str], dict[str, tuple[int, ...]]] = {}
    return [test for name in names for test in _planned(name, files, known)]


def run_of(test: Planned, files: Mapping[str, bytes]) -> TestRun:
    """The test itself, to be run."""
    module, _ = _module_of(test, files)
    return TestRun(ast.unparse(module), test.file, test.select)


def twin_of(test: Planned, files: Mapping[str, bytes], seed: int, number: int = 0) -> TestRun | None:
    """A twin of a test with a wrong expected value, or None when it can't be had.

    Args:
        test: The test.
        files: The suite's.
        seed: A secret number, the same for all twins of a test and for no two tests: it decides which literal is wrong.
        number: Which of the twins, from 0.
    """
    chance = Random(seed)  # noqa: S311 - seeded by what nobody can guess
    module, values = _module_of(test, files)
    for value in chance.sample(values, len(values)):
        if make_wrong(value, chance, number):
            return TestRun(ast.unparse(module), test.file, test.select)
    return None


def _planned(
    name: str, files: Mapping[str, bytes], known: dict[tuple[str, str], dict[str, tuple[int, ...]]]
) -> Iterator[Planned]:
    path, _, rest = name.partition("::")
    bare, opening, inside = rest.partition("[")
    brackets = opening + inside
    fits = [file for file in files if file == path or file.endswith(f"/{path}")]
    if len(fits) != 1:
        raise AuthorFault(f"{name}: {len(fits) or 'none'} of the suite's files is called {path}")
    file, parts = fits[0], tuple(bare.split("::"))
    module = _parse(files, file)
    function, readable = _find(module, parts, name)
    found = tables(function, _constants(module)) if readable else None
    if not found:
        if found is not None and brackets and not _may_have_more(function, found):
            raise AuthorFault(f"{name}: the test has no parameters")
        if found is None and not brackets:
            raise AuthorFault(f"{name}: its parameters can't be read from the source; plan each of its tests by its id")
        yield Planned(name, file, parts, brackets, None if brackets else ())
        return
    if (file, bare) not in known:
        known[file, bare] = ids(found)
    rows = known[file, bare]
    if brackets in rows:
        yield Planned(name, file, parts, "", rows[brackets])
    elif not brackets and rows and not _may_have_more(function, found):
        yield from (Planned(name + row, file, parts, "", at) for row, at in rows.items())
    elif _may_have_more(function, found):
        yield Planned(name, file, parts, brackets, None)
    else:
        raise AuthorFault(f"{name}: no parameters have this id; there are {', '.join(list(rows)[:20]) or 'none'}")


def _may_have_more(function: Function, found: Sequence[Table]) -> bool:
    """Whether a fixture might give the test parameters beside those in its own decorators."""
    arguments = {argument.arg for argument in function.args.args} - {"self"}
    return bool(arguments - {name for table in found for name in table.columns})


def _module_of(test: Planned, files: Mapping[str, bytes]) -> tuple[ast.Module, list[ast.expr]]:
    """A fresh module with this test alone, and its expected values."""
    module = _parse(files, test.file)
    constants = _constants(module)
    function, _ = _find(module, test.path, test.name)
    found = (tables(function, constants) or []) if test.rows is not None else []
    cells: dict[str, ast.expr] = {}
    for table, row in zip(found, test.rows or (), strict=True):
        table.keep(row)
        cells |= table.cells(row)
    _leave_out_texts(module, function)
    _leave_out_tests(module, function)
    _leave_out_constants(module, {table.constant for table in found} - {""})
    known = {name for table in found if table.constant in _constants(module) for name in table.columns}
    return module, expected_values(function, cells, known | _seen_by_fixtures(module))


def _parse(files: Mapping[str, bytes], file: str) -> ast.Module:
    try:
        return ast.parse(files[file], file)
    except (SyntaxError, ValueError) as error:
        raise AuthorFault(f"{file} is no Python: {error}") from None


def _find(module: ast.Module, path: Sequence[str], name: str) -> tuple[Function, bool]:
    """The function of a test, and whether nothing around it can give it parameters."""
    body: list[ast.stmt] = module.body
    readable = "pytestmark" not in {target for target, _ in _assigned(module)}
    for part in path[:-1]:
        inner = [node for node in body if isinstance(node, ast.ClassDef) and node.name == part]
        if not inner:
            raise AuthorFault(f"{name}: there is no class {part}")
        readable = readable and not inner[-1].decorator_list
        body = inner[-1].body
    functions = [node for node in body if isinstance(node, Function) and node.name == path[-1]]
    if not functions:
        raise AuthorFault(f"{name}: there is no test {path[-1]}")
    return functions[-1], readable


def _constants(module: ast.Module) -> dict[str, ast.expr]:
    """Values of names that the module assigns once."""
    names = [name for name, _ in _assigned(module)]
    return {name: value for name, value in _assigned(module) if names.count(name) == 1}


def _assigned(module: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in module.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
            case _:
                pass


def _leave_out_texts(module: ast.Module, kept: Function) -> None:
    """Remove what people are told about the tests: it may tell the right value from a wrong one."""
    for node in (module, kept, *(node for node in ast.walk(module) if isinstance(node, ast.ClassDef))):
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]


def _leave_out_tests(module: ast.Module, kept: Function) -> None:
    """Remove all other tests that nothing refers to."""
    used = _used(module)

    def left(body: list[ast.stmt]) -> list[ast.stmt]:
        remaining: list[ast.stmt] = []
        for node in body:
            if isinstance(node, ast.ClassDef):
                node.body = left(node.body)
                if not node.body and node.name not in used:
                    continue
                node.body = node.body or [ast.Pass()]
            elif isinstance(node, Function) and _is_spare(node, kept, used):
                continue
            remaining.append(node)
        return remaining

    module.body = left(module.body)


def _is_spare(node: Function, kept: Function, used: set[str]) -> bool:
    return node is not kept and node.name.startswith("test") and node.name not in used


def _leave_out_constants(module: ast.Module, names: set[str]) -> None:
    """Remove constants of rows that nothing refers to any more."""
    unused = names - _used(module)
    module.body = [node for node in module.body if not unused & {name for name, _ in _assigned(ast.Module([node], []))}]


def _used(module: ast.Module) -> set[str]:
    nodes = list(ast.walk(module))
    names = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return names | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def _seen_by_fixtures(module: ast.Module) -> set[str]:
    """Names of what the fixtures of a module ask for: a parameter of that name changes more than a comparison."""
    return {
        argument.arg
        for node in ast.walk(module)
        if isinstance(node, Function) and any("fixture" in ast.unparse(mark) for mark in node.decorator_list)
        for argument in node.args.args
    }
