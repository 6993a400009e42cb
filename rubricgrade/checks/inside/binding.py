"""Which names a Python source binds, and where: whether the reading of a name can succeed at all, on any path."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from functools import cached_property
from typing import cast

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Scope = Function | Comprehension | ast.ClassDef | ast.Module
FIXED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.alias)
"""What binds a name to what the source says, and to nothing that comes out of data."""
DYNAMIC = frozenset({"globals", "locals", "vars", "exec", "eval", "setattr"})
"""Builtins by which code can bind names that don't stand in it."""


class Source:
    """A source file with its scopes.

    Args:
        text: Its text. Raises `SyntaxError` when it is no Python.

    Attributes:
        tree: What it parses to.
        dynamic: Whether it may bind names that don't stand in it.
    """

    def __init__(self, text: str | bytes) -> None:
        self.tree = ast.parse(text)
        self._parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}
        self.dynamic = any(isinstance(node, ast.Name) and node.id in DYNAMIC for node in ast.walk(self.tree))

    def parent(self, node: ast.AST) -> ast.AST:
        """What a node stands in; the module for itself."""
        return self._parents.get(node, self.tree)

    def binders(self, name: str, at: ast.AST) -> tuple[Scope, list[ast.AST]]:
        """Everything that can bind a name for a node that reads it, and the scope in which it does.

        It is the innermost scope around the node that binds the name at all; the module where none does. In doubt there
        are too many of them: a class around a function counts too, and of a ``nonlocal`` all.
        """
        for scope in self._around(at):
            if _declares(scope, name, ast.Global):
                break
            found = [node for bound, node in _bindings(scope) if bound == name]
            if found and not _declares(scope, name, ast.Nonlocal):
                return scope, [*found, *self._declared(name, ast.Nonlocal)]
        module = [node for bound, node in _bindings(self.tree) if bound == name]
        return self.tree, [*module, *self._declared(name, ast.Global)]

    def never_bound(self, node: ast.Name) -> bool:
        """Whether reading a name must fail whatever has happened before: nothing binds it that does not read it first.

        So it is for a name that stands nowhere else, and for ``count += 1`` where nothing sets `count`. It is not for a
        name that is set on some paths: data decides which of them is taken.
        """
        scope, binders = self.binders(node.id, node)
        if self.dynamic or (not binders and hasattr(builtins, node.id)):
            return False
        if isinstance(scope, ast.ClassDef):
            return False  # what a class has not bound is looked up in the module
        return all(self._reads_first(binder, node.id) for binder in binders)

    def unbound(self) -> Iterator[ast.Name]:
        """Every reading of a name that must fail (`never_bound`), but for annotations, which need not be evaluated."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and not node.id.startswith("__"):
                yield from [node] if self._is_read(node) and self.never_bound(node) else []

    def _is_read(self, node: ast.Name) -> bool:
        if not isinstance(node.ctx, ast.Load):
            return isinstance(self.parent(node), ast.AugAssign)
        inner: ast.AST = node
        while not isinstance(inner, ast.stmt | ast.arg):
            outer = self.parent(inner)
            if inner in {getattr(outer, "annotation", None), getattr(outer, "returns", None)}:
                return False
            inner = outer
        return True

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name in the source, but for those that something is only asked for as its member."""
        nodes = [node for node in ast.walk(self.tree) if not isinstance(node, ast.Attribute)]
        fields: list[object] = [value for node in nodes for _, value in ast.iter_fields(node)]
        listed = [each for value in fields if isinstance(value, list) for each in cast("list[object]", value)]
        return frozenset(part for each in (*fields, *listed) if isinstance(each, str) for part in each.split("."))

    @cached_property
    def imported(self) -> frozenset[str]:
        """Every part of every name that is imported anywhere in the source, and of those that it is imported from."""
        nodes = [node for node in ast.walk(self.tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        dotted = [alias.name for node in nodes for alias in node.names]
        dotted += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module is not None]
        return frozenset(part for name in dotted for part in name.split("."))

    def assigns(self, name: object) -> bool:
        """Whether an attribute of a name, or an item with it as its key, is set or deleted anywhere in the source."""
        for node in ast.walk(self.tree):
            match node:
                case ast.Attribute(attr=attr, ctx=ast.Store() | ast.Del()) if attr == name:
                    return True
                case ast.Subscript(slice=ast.Constant(value=key), ctx=ast.Store() | ast.Del()) if key == name:
                    return True
                case _:
                    pass
        return False

    def constant(self, node: ast.Name) -> object:
        """The value of a module's name that is set once, to a literal, and then only looked into; else None."""
        scope, binders = self.binders(node.id, node)
        match [self.parent(binder) for binder in binders]:
            case [ast.Assign(targets=[ast.Name()], value=value) | ast.AnnAssign(value=ast.expr() as value)]:
                pass
            case _:
                return None
        others = [each for each in ast.walk(self.tree) if isinstance(each, ast.Name) and each.id == node.id]
        if scope is not self.tree or not all(each in binders or self._is_looked_into(each) for each in others):
            return None
        try:
            return ast.literal_eval(value)
        except ValueError:
            return None

    def _is_looked_into(self, name: ast.Name) -> bool:
        parent = self.parent(name)
        return isinstance(parent, ast.Subscript) and parent.value is name and isinstance(parent.ctx, ast.Load)

    def _around(self, node: ast.AST) -> Iterator[Scope]:
        """The scopes around a node below the module, from the innermost."""
        while node is not self.tree:
            node = self.parent(node)
            if isinstance(node, Function | Comprehension | ast.ClassDef):
                yield node

    def _declared(self, name: str, how: type[ast.Global | ast.Nonlocal]) -> list[ast.AST]:
        """What binds a name of another scope in functions that declare it."""
        scopes = [node for node in ast.walk(self.tree) if isinstance(node, Function | ast.ClassDef)]
        declaring = [scope for scope in scopes if _declares(scope, name, how)]
        return [node for scope in declaring for bound, node in _bindings(scope) if bound == name]

    def _reads_first(self, binder: ast.AST, name: str) -> bool:
        """Whether what binds a name has to read it before, so that it can't be the first to bind it."""
        match self.parent(binder):
            case ast.AugAssign(target=target):
                return target is binder
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                return any(isinstance(part, ast.Name) and part.id == name for part in _evaluated(value))
            case _:
                return False


def _declares(scope: Scope, name: str, how: type[ast.Global | ast.Nonlocal]) -> bool:
    return any(isinstance(part, how) and name in part.names for part in _inside(scope))


def _bindings(scope: Scope) -> Iterator[tuple[str, ast.AST]]:
    """Every name that a scope binds itself, with what does."""
    if isinstance(scope, Function):
        for argument in ast.walk(scope.args):
            if isinstance(argument, ast.arg):
                yield argument.arg, argument
    if isinstance(scope, Comprehension):
        targets = [part for each in scope.generators for part in ast.walk(each.target)]
        yield from ((part.id, part) for part in targets if isinstance(part, ast.Name))
        return
    for node in _inside(scope):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name, node
            case ast.alias(name=name, asname=asname):
                yield asname or name.partition(".")[0], node
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name, node
            case ast.MatchMapping(rest=str(name)):
                yield name, node
            case _:
                pass


def _inside(scope: Scope) -> Iterator[ast.AST]:
    """All nodes of a scope's own body; of a scope in it the node alone, and of a comprehension not what it binds."""
    body = [] if isinstance(scope, Comprehension) else scope.body
    waiting: list[ast.AST] = [body] if isinstance(body, ast.expr) else [*body]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Comprehension):
            waiting += [part for each in node.generators for part in (each.iter, *each.ifs)]
            waiting += [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        elif not isinstance(node, Function | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)


def _evaluated(node: ast.expr) -> Iterator[ast.AST]:
    """The parts of an expression that are evaluated whenever it is."""
    waiting: list[ast.AST] = [node]
    while waiting:
        part = waiting.pop()
        yield part
        match part:
            case ast.Lambda():
                pass
            case ast.IfExp(test=first) | ast.BoolOp(values=[first, *_]):
                waiting.append(first)
            case ast.Compare(left=left, comparators=[first, *_]):
                waiting += [left, first]
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                waiting.append(part.generators[0].iter)
            case _:
                waiting += ast.iter_child_nodes(part)
