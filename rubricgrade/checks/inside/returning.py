"""What a function of the author's returned and nobody can use, and whether its source alone shows that.

A function may have passed on what the agent left, so what it returned proves nothing. It is the author's slip if every
``return`` in its source shows which type it gives, and what came back is what one of them, or the end of the function,
always gives.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, ClassVar, TypeVar

from rubricgrade.checks.inside.binding import Source
from rubricgrade.checks.inside.finding import CheckResult, Unusable
from rubricgrade.checks.inside.wire import SEALED

T = TypeVar("T")
NOTHING = type(None)
GIVES: dict[Any, type] = {
    **dict.fromkeys((all, any, bool, callable, hasattr, isinstance, issubclass), bool),
    CheckResult: CheckResult,
}
"""What is known to give one type, whatever it is given."""
DISPLAYS: dict[type[ast.expr], type] = {
    ast.Compare: bool,
    ast.Dict: dict,
    ast.DictComp: dict,
    ast.JoinedStr: str,
    ast.List: list,
    ast.ListComp: list,
    ast.Set: set,
    ast.SetComp: set,
    ast.Tuple: tuple,
}
"""What an expression gives whatever stands in it. A comparison can also give what is no bool, but no other of these."""
LATER = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class NoVerdict(Unusable):
    """What a check returned is no verdict.

    Attributes:
        place: The function, as ``checks/totals.py:14``.
        slip: Whether its source shows that it is the author's doing, whatever the agent has left.
    """

    FITS: ClassVar[tuple[type, ...]] = (bool, CheckResult)
    """Types that are right, so that it is what they hold that is not."""

    def __init__(self, message: str, place: str, *, slip: bool) -> None:
        self.place, self.slip = place, slip
        super().__init__(message)


class NoItems(NoVerdict):
    """What a function of a ``for_each`` returned is no list of texts."""

    FITS = (list, tuple)


def used(use: Callable[[Any], T], function: Callable[..., Any], value: object, kind: type[NoVerdict] = NoVerdict) -> T:
    """What a function returned, used.

    Args:
        use: Makes something of it; raises `Unusable`.
        function: What returned it.
        value: What it returned.
        kind: What to raise.

    Raises:
        NoVerdict: It can't be used.
    """
    try:
        return use(value)
    except Unusable as error:
        code = _code(function)
        place = f"{code.co_filename.removeprefix(f'{SEALED}/')}:{code.co_firstlineno}" if code else ""
        raise kind(str(error), place, slip=_is_slip(function, value, kind.FITS)) from None


def _is_slip(function: Callable[..., Any], value: object, fits: tuple[type, ...]) -> bool:
    """Whether the function's source shows that it was about to return this, whatever the agent has left.

    Args:
        function: A function of a sealed file itself, not one that a decorator has made of it.
        value: What it returned, and what can't be used.
        fits: Types whose values can be used, or not, by what they hold.
    """
    code = _code(function)
    if type(function) is not FunctionType or code is None or hasattr(function, "__wrapped__"):
        return False
    source = Source(Path(code.co_filename).read_bytes())
    node = _definition(source, code)
    if source.dynamic or node is None:
        return False
    if code.co_flags & LATER:
        return True
    found: set[type] = set()
    for given in _returned(node):
        kinds = _kinds(given, function, source)
        if not kinds:
            return False
        found |= kinds
    return value is None or (type(value) in found and not isinstance(value, fits))


def _code(function: Callable[..., Any]) -> CodeType | None:
    """The code of a function of a sealed file, below its decorators; None if there is none."""
    inner = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    code = getattr(inspect.unwrap(inner), "__code__", None)
    return code if isinstance(code, CodeType) and code.co_filename.startswith(f"{SEALED}/") else None


def _definition(source: Source, code: CodeType) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Where a code object is defined; None for a lambda, for what has a decorator, and in doubt."""
    found = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.name, node.lineno) == (code.co_name, code.co_firstlineno)
        and not node.decorator_list
    ]
    return found[0] if len(found) == 1 else None


def _returned(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr | None]:
    """What every ``return`` of a function returns, without those of functions in it."""
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Return):
            yield node.value
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def _kinds(node: ast.expr | None, function: FunctionType, source: Source) -> set[type]:
    """Every type that an expression can give; none if data may decide it. A number is one that is written out."""
    match node:
        case None:
            return {NOTHING}
        case ast.Constant(value=value) | ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)):
            return {type(value)}
        case ast.UnaryOp(op=ast.Not()):
            return {bool}
        case ast.Call(func=ast.Name() as called):
            return _called(called, function, source)
        case ast.BoolOp(values=parts):
            return _all_kinds(parts, function, source)
        case ast.IfExp(body=first, orelse=second):
            return _all_kinds([first, second], function, source)
        case _:
            kind = DISPLAYS.get(type(node))
            return set() if kind is None else {kind}


def _all_kinds(nodes: list[ast.expr], function: FunctionType, source: Source) -> set[type]:
    kinds = [_kinds(node, function, source) for node in nodes]
    return {kind for each in kinds for kind in each} if all(kinds) else set()


def _called(name: ast.Name, function: FunctionType, source: Source) -> set[type]:
    """What a call of a name gives, if the name stands for something known: a builtin that nothing hides, or our own."""
    scope, binders = source.binders(name.id, name)
    if scope is not source.tree or not all(isinstance(binder, ast.alias) for binder in binders):
        return set()
    found = function.__globals__.get(name.id, vars(builtins).get(name.id))
    kind = GIVES.get(found) if isinstance(found, Hashable) else None
    return set() if kind is None else {kind}
