"""Which expressions of a check stand for an object of our API whatever the data is: told by the source alone.

That an expression has been one this time is no proof: `x = case if rows else other` is one for some data.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from rubricgrade.checks.inside.binding import Comprehension, Function, Source
from rubricgrade.checks.inside.program import Program

MANY = "*"
"""Behind the name of a class: a sequence of its objects."""
MEMBERS: Mapping[tuple[str, str], str] = {
    ("Case", "sealed"): "PosixPath",
    ("Case", "solution"): "Solution",
    ("Case", "steps"): "Step*",
    ("Case", "workspace"): "PosixPath",
    ("Case", "world"): "PosixPath",
    ("Step", "calls"): "Call*",
}
RETURNED: Mapping[tuple[str, str], str] = {
    ("Case", "calls"): "Call*",
    ("Case", "mail"): "Mail*",
    ("Solution", "ask"): "Called",
    ("Solution", "call"): "Called",
    ("Solution", "run"): "Ran",
}
DEEPEST = 6


class Kinds:
    """The kinds of expressions of one file.

    Args:
        source: The file.
        program: All sealed files, of which it is one.
    """

    def __init__(self, source: Source, program: Program) -> None:
        self._source = source
        self._program = program

    def of(self, node: ast.expr, depth: int = 0) -> str | None:
        """Name of the API's class that an expression is of, with `MANY` for a sequence; None in doubt."""
        if depth > DEEPEST:
            return None
        match node:
            case ast.Name():
                return self._of_name(node, depth + 1)
            case ast.Attribute(value=holder, attr=name) if not self._program.sets(name):
                return MEMBERS.get((self.of(holder, depth + 1) or "", name))
            case ast.Call(func=ast.Attribute(value=holder, attr=name)) if not self._program.sets(name):
                return RETURNED.get((self.of(holder, depth + 1) or "", name))
            case ast.Subscript(value=holder, slice=ast.Slice()):
                kind = self.of(holder, depth + 1)
                return kind if kind is not None and kind.endswith(MANY) else None
            case ast.Subscript(value=holder):
                return _one_of(self.of(holder, depth + 1))
            case ast.BinOp(left=left, op=ast.Div()):
                return "PosixPath" if self.of(left, depth + 1) == "PosixPath" else None
            case _:
                return None

    def _of_name(self, node: ast.Name, depth: int) -> str | None:
        scope, binders = self._source.binders(node.id, node)
        if not isinstance(scope, Function | Comprehension):
            return None
        kinds = {self._bound(binder, depth) for binder in binders}
        return kinds.pop() if len(kinds) == 1 else None

    def _bound(self, binder: ast.AST, depth: int) -> str | None:
        parent = self._source.parent(binder)
        if isinstance(binder, ast.arg):
            return "Case" if self._is_case(binder) else None
        match parent:
            case ast.Assign(targets=[ast.Name()], value=value) | ast.NamedExpr(value=value):
                return self.of(value, depth)
            case ast.AnnAssign(value=ast.expr() as value):
                return self.of(value, depth)
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value) if target is binder:
                return _one_of(self.of(value, depth))
            case _:
                return None

    def _is_case(self, argument: ast.arg) -> bool:
        """Whether it is the first argument of a function that nobody calls but us."""
        for function in self._source.tree.body:
            match function:
                case ast.FunctionDef(decorator_list=[], args=ast.arguments(posonlyargs=[], args=[first, *_])):
                    if first is argument:
                        return not self._program.refers(function.name)
                case _:
                    pass
        return False


def _one_of(kind: str | None) -> str | None:
    return kind.removesuffix(MANY) if kind is not None and kind.endswith(MANY) else None
