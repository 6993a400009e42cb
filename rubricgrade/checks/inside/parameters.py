"""Rows of `pytest.mark.parametrize` as they stand in a test's source, and which of them an id (``[1-2]``) means."""

from __future__ import annotations

import ast
import contextlib
import gc
import io
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from rubricgrade.checks.inside.twins import Function


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

    def cells(self, row: int) -> dict[str, ast.expr]:
        """The values of one row by column; nothing when they don't stand there one by one."""
        value = self.rows[row]
        if isinstance(value, ast.Call):
            parts = value.args
        elif len(self.columns) == 1:
            parts = [value]
        else:
            parts = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        return dict(zip(self.columns, parts, strict=True)) if len(parts) == len(self.columns) else {}

    def keep(self, row: int) -> None:
        """Leave only one row in the source, and no id of the author's: it might tell a right value from a wrong one."""
        kept = self.rows[row]
        if isinstance(kept, ast.Call):
            kept.keywords = [word for word in kept.keywords if word.arg != "id"]
        self.decorator.args[1] = ast.List([kept], ast.Load())
        self.decorator.keywords.clear()


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
    return found


def ids(found: Sequence[Table]) -> dict[str, tuple[int, ...]]:
    """The ids that pytest gives the rows, such as ``[1-2]``, each with the row that it takes of every table.

    Pytest itself is asked, about a test of the same parameters that does nothing: no import of the suite's is carried
    out, and no code of it but what stands in the decorators.
    """
    import pytest  # noqa: PLC0415 - only for suites with parameters

    gc.freeze()  # pytest collects garbage several times at its end, and need not look through itself each time
    arguments = ", ".join(name for table in found for name in table.columns)
    decorators = "".join(f"@{ast.unparse(_skeleton(table))}\n" for table in found)
    indices: dict[str, tuple[int, ...]] = {}

    class Asked:
        def pytest_collection_modifyitems(self, items: Sequence[Any]) -> None:
            for item in items:
                rows = item.callspec.indices
                indices[item.name.removeprefix("test_it")] = tuple(rows[table.columns[0]] for table in found)

    with tempfile.TemporaryDirectory() as folder:
        # A module name of its own each time: pytest takes a module that was imported before for the same.
        file = Path(folder, f"test_{Path(folder).name}.py")
        file.write_text(f"import pytest\n{decorators}def test_it({arguments}): pass\n", "utf-8")
        options = ["-q", "--collect-only", "-p", "no:cacheprovider", "-c", os.devnull, "--noconftest"]
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
    if not columns or not listed or not readable or any(isinstance(row, ast.Starred) for row in listed):
        return None
    # Whoever asks for the ids carries these out, maybe outside of any sandbox.
    words = [word for row in listed if isinstance(row, ast.Call) for word in row.keywords if word.arg == "id"]
    named = [*(given.elts if isinstance(given, ast.List | ast.Tuple) else ()), *(word.value for word in words)]
    if not all(map(str.isidentifier, columns)) or not all(map(_is_plain, named)):
        return None
    return Table(decorator, columns, tuple(listed), constant)


def _is_plain(value: ast.expr) -> bool:
    """Whether it is made of literals alone, so that making it runs no code of the suite's."""
    return not any(isinstance(node, ast.Name | ast.Call | ast.Attribute) for node in ast.walk(value))


def _columns(names: object) -> tuple[str, ...]:
    if isinstance(names, str):
        return tuple(name.strip() for name in names.split(",") if name.strip())
    listed = cast("Sequence[object]", names) if isinstance(names, list | tuple) else ()
    return tuple(name for name in listed if isinstance(name, str))


def _skeleton(table: Table) -> ast.Call:
    """The decorator with a plain object in the place of every value that only the suite's own code can make."""

    def plain(value: ast.expr) -> ast.expr:
        match value:
            case ast.Call(func=func, args=args, keywords=words) if ast.unparse(func).endswith("param"):
                named = [word for word in words if word.arg == "id"]
                return ast.Call(ast.parse("pytest.param", mode="eval").body, [plain(part) for part in args], named)
            case ast.Tuple(elts=parts) | ast.List(elts=parts) if len(table.columns) > 1 and value in table.rows:
                return ast.Tuple([plain(part) for part in parts], ast.Load())
            case _ if not _is_plain(value):
                return ast.parse("object()", mode="eval").body
            case _:
                return value

    mark = ast.parse("pytest.mark.parametrize", mode="eval").body
    rows = ast.List([plain(row) for row in table.rows], ast.Load())
    return ast.Call(mark, [table.decorator.args[0], rows], table.decorator.keywords)
