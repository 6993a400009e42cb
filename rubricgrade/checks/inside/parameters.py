"""Rows of `pytest.mark.parametrize` as they stand in a test's source, and which of them an id (``[1-2]``) means."""

from __future__ import annotations

import ast
import contextlib
import copy
import gc
import io
import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from pathlib import Path
from typing import Any, cast

from rubricgrade.checks.inside.twins import Function, is_literal

LARGEST, LARGEST_POWER, LONGEST = 10**9, 1000, 10_000
"""Of the numbers and texts in arithmetic that is carried out."""
MOST_ROWS = 10_000
"""Tests that come of the tables of one."""
ROW = "row_of_a_table"
"""A mark that says which row of which table a test has; pytest itself only tells them apart by their ids."""


@dataclass(frozen=True)
class Table:
    """One decorator whose rows can be read.

    Attributes:
        decorator: The call in the source.
        columns: Names of the parameters.
        rows: Its rows, each a literal or not.
        constant: The module's constant that holds the rows, when they don't stand in the decorator.
    """

    decorator: ast.Call
    columns: tuple[str, ...]
    rows: tuple[ast.expr, ...]
    constant: str = ""

    @property
    def named(self) -> bool:
        """Whether the source says which id each row has; else some are only known where the suite's own code runs."""
        words = [word for word in self.decorator.keywords if word.arg == "ids"]
        listed = words[0].value.elts if words and isinstance(words[0].value, ast.List | ast.Tuple) else []
        given = listed or [ast.Constant(None)] * len(self.rows)
        return all(
            is_literal(name) and (_says_name(name) or self._shows_id(row))
            for name, row in zip(given, self.rows, strict=True)
        )

    def keep(self, row: int) -> dict[str, ast.expr]:
        """Leave only one row in the source, and no id of the author's: it might tell a right value from a wrong one.

        Returns:
            Its values by column, as they stand there now; nothing when they don't stand there one by one.
        """
        kept = copy.deepcopy(self.rows[row])  # a constant's rows belong to all tests
        if isinstance(kept, ast.Call) and _is_param(kept):
            kept.keywords = [word for word in kept.keywords if word.arg != "id"]
        self.decorator.args[1] = ast.List([kept], ast.Load())
        self.decorator.keywords.clear()
        parts = self.parts(kept)
        return dict(zip(self.columns, parts, strict=True)) if len(parts) == len(self.columns) else {}

    def parts(self, row: ast.expr) -> list[ast.expr]:
        """The values of a row, one for each column, as far as they stand there one by one."""
        if isinstance(row, ast.Call) and _is_param(row):
            return row.args
        if len(self.columns) == 1:
            return [row]
        return row.elts if isinstance(row, ast.Tuple | ast.List) else []

    def _shows_id(self, row: ast.expr) -> bool:
        words = row.keywords if isinstance(row, ast.Call) and _is_param(row) else []
        if names := [word.value for word in words if word.arg == "id"]:
            return _says_name(names[0])
        parts = self.parts(row)
        return len(parts) == len(self.columns) and all(map(_shows_id, parts))


def tables(function: Function, constants: Mapping[str, ast.expr]) -> list[Table] | None:
    """Every `parametrize` of a test, outermost first; None when the rows of one can't be read from the source."""
    found: list[Table] = []
    for decorator in function.decorator_list:
        if "parametrize" not in ast.unparse(decorator):
            continue
        table = _table(decorator, constants)
        if table is None:
            return None
        found.append(table)
    # All combinations of them are made here.
    return found if math.prod(len(table.rows) for table in found) <= MOST_ROWS else None


def ids(found: Sequence[Table]) -> dict[str, tuple[int, ...]]:
    """The ids that pytest gives the rows, such as ``[1-2]``, each with the row that it takes of every table.

    Pytest itself is asked, about a test of the same parameters that does nothing: no code of the suite's is carried
    out, only literals and sums are taken over.
    """
    import pytest  # noqa: PLC0415 - only for suites with parameters

    gc.freeze()  # pytest collects garbage several times at its end, and need not look through itself each time
    arguments = ", ".join(name for table in found for name in table.columns)
    decorators = "".join(f"@{ast.unparse(_skeleton(table, number))}\n" for number, table in enumerate(found))
    indices: dict[str, tuple[int, ...]] = {}

    class Asked:
        def pytest_collection_modifyitems(self, items: Sequence[Any]) -> None:
            for item in items:
                rows = dict(mark.args for mark in item.iter_markers(ROW))
                indices[item.name.removeprefix("test_it")] = tuple(rows[number] for number in range(len(found)))

    with tempfile.TemporaryDirectory() as folder:
        # A module name of its own each time: pytest takes a module that was imported before for the same.
        file = Path(folder, f"test_{Path(folder).name}.py")
        file.write_text(f"import pytest\n{decorators}def test_it({arguments}): pass\n", "utf-8")
        options = ["-q", "--collect-only", "-p", "no:cacheprovider", "-c", os.devnull, "--noconftest", "-W", "ignore"]
        options += ["--rootdir", folder, "--confcutdir", folder]
        with contextlib.redirect_stdout(io.StringIO()):
            pytest.main([*options, str(file)], plugins=[Asked()])
    return indices


def _table(decorator: ast.expr, constants: Mapping[str, ast.expr]) -> Table | None:
    match decorator:
        case ast.Call(args=[names, rows], keywords=keywords) if {word.arg for word in keywords} <= {"ids"}:
            pass
        case _:
            return None
    try:
        columns = _columns(ast.literal_eval(names))
    except ValueError:
        return None
    constant = rows.id if isinstance(rows, ast.Name) else ""
    rows = constants.get(constant, rows)
    listed = rows.elts if isinstance(rows, ast.List | ast.Tuple) else []
    given = next((word.value for word in keywords), None)
    readable = given is None or (isinstance(given, ast.List | ast.Tuple) and len(given.elts) == len(listed))
    # The names become arguments of a function that is carried out here.
    proper = all(name.isidentifier() and not iskeyword(name) for name in columns)
    if not columns or not proper or not listed or not readable or any(isinstance(row, ast.Starred) for row in listed):
        return None
    return Table(decorator, columns, tuple(listed), constant)


def _columns(names: object) -> tuple[str, ...]:
    if isinstance(names, str):
        return tuple(name.strip() for name in names.split(",") if name.strip())
    listed = cast("Sequence[object]", names) if isinstance(names, list | tuple) else ()
    return tuple(name for name in listed if isinstance(name, str))


def _skeleton(table: Table, number: int) -> ast.Call:
    """The decorator with marks that number its rows, and a plain object for each value that only code can make."""
    rows: list[ast.expr] = [_plain_row(table, number, index) for index in range(len(table.rows))]
    names = ast.Tuple([ast.Constant(name) for name in table.columns], ast.Load())
    words = [ast.keyword(word.arg, _literals(word.value)) for word in table.decorator.keywords]
    mark = ast.parse("pytest.mark.parametrize", mode="eval").body
    return ast.Call(mark, [names, ast.List(rows, ast.Load())], words)


def _plain_row(table: Table, number: int, index: int) -> ast.expr:
    row = table.rows[index]
    words = row.keywords if isinstance(row, ast.Call) and _is_param(row) else []
    named = [word for word in words if word.arg == "id" and is_literal(word.value)]
    mark = ast.keyword("marks", ast.parse(f"pytest.mark.{ROW}({number}, {index})", mode="eval").body)
    values = [
        value if is_literal(value) or _is_sum(value) else ast.parse("object()", mode="eval").body
        for value in table.parts(row)
    ]
    return ast.Call(ast.parse("pytest.param", mode="eval").body, values, [*named, mark])


def _literals(names: ast.expr) -> ast.expr:
    listed = names.elts if isinstance(names, ast.List | ast.Tuple) else []
    return ast.List([name if is_literal(name) else ast.Constant(None) for name in listed], ast.Load())


def _is_param(row: ast.Call) -> bool:
    return ast.unparse(row.func) in {"pytest.param", "param"}


def _says_name(value: ast.expr) -> bool:
    """Whether it is an id that stands there; None leaves it to pytest."""
    return is_literal(value) and ast.literal_eval(value) is not None


def _shows_id(value: ast.expr) -> bool:
    """Whether pytest's id of a value can be told from the source: of lists and the like it takes only the place."""
    if isinstance(value, ast.BinOp) and isinstance(value.left, ast.List | ast.Tuple):
        return True
    places = ast.List | ast.Tuple | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp | ast.GeneratorExp
    return is_literal(value) or _is_sum(value) or isinstance(value, places)


def _is_sum(value: ast.expr) -> bool:
    """Whether it is arithmetic that is soon done, such as ``2 * 50`` or ``1 << 20``: it is carried out here."""
    match value:
        case ast.Constant(value=int() | float() as number):
            return abs(number) <= LARGEST
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=inner):
            return _is_sum(inner)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            return _is_sum(left) and _is_sum(right)
        case ast.BinOp(
            left=ast.Constant() as left, op=ast.Pow() | ast.LShift(), right=ast.Constant(value=int() as power)
        ):
            return _is_sum(left) and 0 <= power <= LARGEST_POWER
        case ast.BinOp(
            left=ast.Constant(value=str() | bytes() as text), op=ast.Mult(), right=ast.Constant(value=int() as times)
        ):
            return len(text) * times <= LONGEST
        case _:
            return False
