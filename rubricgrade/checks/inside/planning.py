"""Which tests a sealed suite has to run: planned ids against the suite's own source, never whatever was collected.

Each planned test becomes a module that holds this one test alone (see `alone`), of its parameters only its row.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from rubricgrade.checks.inside.alone import Alone, source_of
from rubricgrade.checks.inside.finding import AuthorFault
from rubricgrade.checks.inside.fixtures import asked_by_fixtures, multiplying
from rubricgrade.checks.inside.parameters import Table, ids, tables
from rubricgrade.checks.inside.tested import TestRun
from rubricgrade.checks.inside.twins import Function, assertions, expected_values, is_mark, make_wrong


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


def place_of(path: str, root: str | None) -> str:
    """Where a sealed file lies in its suite: its path in the rubric, or below the folder that stands for the suite."""
    return path if root is None else path.removeprefix(f"{root}/")


def run_of(test: Planned, files: Mapping[str, bytes]) -> TestRun:
    """The test itself, to be run."""
    alone, _ = _alone(test, files)
    return TestRun(alone.text(), test.file, test.select)


def twin_of(test: Planned, files: Mapping[str, bytes], seed: int, number: int = 0) -> TestRun | None:
    """A twin of a test with a wrong expected value, or None when it can't be had.

    Args:
        test: The test.
        files: The suite's.
        seed: A secret number, the same for all twins of a test and for no two tests: it decides which literal is wrong.
        number: Which of the twins, from 0.
    """
    chance = Random(seed)  # noqa: S311 - seeded by what nobody can guess
    alone, values = _alone(test, files)
    for value in chance.sample(values, len(values)):
        if make_wrong(value, chance, number):
            return TestRun(alone.text(), test.file, test.select)
    return None


def is_covered_in_part(test: Planned, files: Mapping[str, bytes]) -> bool:
    """Whether a test that has twins asks for more than what can be made wrong: for that, tampering is not seen."""
    alone, values = _alone(test, files)
    return alone.function is not None and 0 < len(values) < assertions(alone.function)


def asks_for(test: Planned, files: Mapping[str, bytes]) -> frozenset[str]:
    """Names of the fixtures that a test asks for, as far as its own arguments can be nothing else."""
    source = source_of(files[test.file], test.file)
    spot = source.find(test.path, test.name)
    function = spot.function
    if function is None or not spot.readable or not all(map(is_mark, function.decorator_list)):
        return frozenset()  # what is no mark may give it arguments
    found = tables(function, source.constants)
    if found is None or multiplying(function, test.file, files):
        return frozenset()
    columns = {name for table in found for name in table.columns}
    return frozenset(argument.arg for argument in function.args.args[len(test.path) > 1 :]) - columns


def _planned(
    name: str, files: Mapping[str, bytes], known: dict[tuple[str, str], dict[str, tuple[int, ...]]]
) -> Iterator[Planned]:
    path, _, rest = name.partition("::")
    bare, opening, inside = rest.partition("[")
    brackets = opening + inside
    file, parts = _file(path, name, files), tuple(bare.split("::"))
    source = source_of(files[file], file)
    spot = source.find(parts, name)
    function = spot.function
    found = tables(function, source.constants) if function is not None and spot.readable else None
    if function is not None and not brackets:
        if found is None:
            raise AuthorFault(f"{name}: its parameters can't be read from the source; plan each of its tests by its id")
        if fixture := multiplying(function, file, files):
            raise AuthorFault(f"{name}: {fixture} gives it parameters; plan each of its tests by its id")
    if not found:
        if found is not None and brackets and not _may_have_more(function, found):
            raise AuthorFault(f"{name}: the test has no parameters")
        yield Planned(name, file, parts, brackets, None if found is None or brackets else ())
        return
    if (file, bare) not in known:
        known[file, bare] = ids(found)
    rows = known[file, bare]
    if brackets in rows:
        yield Planned(name, file, parts, "", rows[brackets])
    elif rows and not brackets:
        yield from (Planned(name + row, file, parts, "", at) for row, at in rows.items())
    elif brackets and (_may_have_more(function, found) or not all(table.named for table in found)):
        yield Planned(name, file, parts, brackets, None)
    else:
        raise AuthorFault(f"{name}: no parameters have this id; there are {', '.join(list(rows)[:20]) or 'none'}")


def _file(path: str, name: str, files: Mapping[str, bytes]) -> str:
    """The file of an id: the one of this very path, or the only one whose path ends with it."""
    fits = [path] if path in files else [file for file in files if file.endswith(f"/{path}")]
    if len(fits) != 1:
        raise AuthorFault(f"{name}: {len(fits) or 'none'} of the suite's files is called {path}")
    return fits[0]


def _may_have_more(function: Function | None, found: Sequence[Table]) -> bool:
    """Whether a fixture might give the test parameters beside those in its own decorators."""
    arguments = {argument.arg for argument in function.args.args} - {"self"} if function is not None else set[str]()
    return bool(arguments - {name for table in found for name in table.columns})


def _alone(test: Planned, files: Mapping[str, bytes]) -> tuple[Alone, list[ast.expr]]:
    """A fresh module with this test alone, and its expected values."""
    source = source_of(files[test.file], test.file)
    alone = source.alone(source.find(test.path, test.name))
    function = alone.function
    if function is None:
        return alone, []
    found = (tables(function, source.constants) or []) if test.rows is not None else []
    cells: dict[str, ast.expr] = {}
    for table, row in zip(found, test.rows or (), strict=True):
        cells |= table.keep(row)
    left = alone.leave_out({table.constant for table in found} - {""})
    known = {name for table in found if table.constant in left for name in table.columns}
    return alone, expected_values(function, cells, known | asked_by_fixtures(test.file, files))
