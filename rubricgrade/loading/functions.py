"""Whether a sealed Python file has a function that can be called as it will be. Nothing is ever imported."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from importlib.util import decode_source

from rubricgrade.rubric.rules import nearest

Defined = ast.FunctionDef | ast.AsyncFunctionDef


def module_of(data: bytes, path: str) -> ast.Module | str:
    """A module's tree, or why it is no Python."""
    try:
        with warnings.catch_warnings():
            # What the author's code looks like is not our user's business.
            warnings.simplefilter("ignore")
            return ast.parse(decode_source(data), path)
    except SyntaxError as error:
        return f"is no Python: {error.msg} (line {error.lineno})"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"is no Python: {error or type(error).__name__}"


def function_fault(module: ast.Module | str, name: str, path: str, given: tuple[str, ...]) -> str:
    """Why a function can't be called; empty if it can, as far as its file tells.

    Args:
        module: As `module_of` gives it.
        name: The function's.
        path: Its file, for the message.
        given: What it is called with, in order.
    """
    if isinstance(module, str):
        return f"{path!r} {module}"
    bound = {name: statement for statement in module.body for name, statement in _bound(statement)}
    if name not in bound:
        return f"{path!r} has no function {name!r}{nearest(name, bound)}"
    function = bound[name]
    if not isinstance(function, Defined) or function.decorator_list:
        return ""  # an import, a class or what a decorator makes of it: only running it would tell
    place = f"{path!r}, line {function.lineno}: {name!r}"
    if isinstance(function, ast.AsyncFunctionDef):
        return f"{place} is async; write a plain def"
    if _can_take(function.args, len(given)):
        return ""
    wanted = f"def {name}({', '.join(given)})"
    return f"{place} is called with {len(given)} argument{'s' * (len(given) != 1)}: write {wanted}"


def _can_take(parameters: ast.arguments, given: int) -> bool:
    positional = len(parameters.posonlyargs) + len(parameters.args)
    required = positional - len(parameters.defaults)
    unnamed = all(default is not None for default in parameters.kw_defaults)
    return unnamed and required <= given and (given <= positional or parameters.vararg is not None)


def _bound(statement: ast.stmt) -> Iterator[tuple[str, ast.stmt]]:
    """The names that a statement binds at its module's top level, each with what binds it."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield statement.name, statement
        case ast.Import() | ast.ImportFrom():
            yield from ((alias.asname or alias.name.partition(".")[0], statement) for alias in statement.names)
        case ast.Assign():
            yield from ((target.id, statement) for target in statement.targets if isinstance(target, ast.Name))
        case ast.If() | ast.Try() | ast.With():
            yield from (
                each
                for inner in ast.iter_child_nodes(statement)
                if isinstance(inner, ast.stmt)
                for each in _bound(inner)
            )
        case _:
            pass
