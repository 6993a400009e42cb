"""One test of a module alone: of the rest of its file only what it needs, and no other test.

So the process that runs it holds no other test's expected value, and its twin looks like it. A file is parsed once,
however many of its tests are run.
"""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from rubricgrade.checks.inside.finding import AuthorFault
from rubricgrade.checks.inside.twins import Function

WITHOUT_TESTS = frozenset({"object", "TestCase", "IsolatedAsyncioTestCase", "ABC"})
"""Classes of other files that hand down no test."""
MOST_DIGITS = 4000
LONGEST = 10**MOST_DIGITS


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a test stands in its file.

    Attributes:
        named: The classes of its id.
        chain: The function, behind the classes that it stands in: those of its id, or one that they inherit from.
            Nothing when the file only makes it when it runs: by a condition, an import or a base from elsewhere.
        readable: Whether nothing around the function can give it parameters.
    """

    named: tuple[ast.ClassDef, ...]
    chain: tuple[ast.stmt, ...]
    readable: bool

    @property
    def function(self) -> Function | None:
        """The test itself."""
        last = self.chain[-1] if self.chain else None
        return last if isinstance(last, Function) else None


class Source:
    """A module of tests. What it hands out is fresh: to change that changes nothing here."""

    def __init__(self, data: bytes, file: str) -> None:
        """Parse it. Raises `AuthorFault` when it is no Python."""
        try:
            self._module = ast.parse(data, file)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise AuthorFault(f"{file} is no Python: {error}") from None
        if any(_is_too_long(node) for node in ast.walk(self._module)):
            raise AuthorFault(f"{file} has a whole number of more than {MOST_DIGITS:,} digits")
        # What people are told about the tests may tell the right value from a wrong one. Other classes may be tested.
        for node in (self._module, *(node for node in ast.walk(self._module) if _has_tests(node))):
            _without_text(node)
        assigned = list(_assigned(self._module.body))
        names = [name for name, _ in assigned]
        self.constants: Mapping[str, ast.expr] = {name: value for name, value in assigned if names.count(name) == 1}
        """Values of names that the module assigns once."""
        self._used = _used(self._module)
        self._bare = [self._stripped(node, {}, frozenset()) for node in self._module.body]
        self._texts: dict[int, str] = {}
        self._uses: dict[int, frozenset[str]] = {}

    @property
    def body(self) -> Sequence[ast.stmt]:
        """Its statements, to look at."""
        return self._module.body

    @property
    def bound(self) -> set[str]:
        """Names that it binds in any way, also under a condition."""
        return _bound(self._module.body)

    def find(self, path: Sequence[str], name: str) -> Spot:
        """Where a test stands.

        Args:
            path: Names of its classes, if any, and of its function.
            name: Its id, for people.

        Raises:
            AuthorFault: There is no such test.
        """
        named: list[ast.ClassDef] = []
        body = self._module.body
        for part in path[:-1]:
            inner = [node for node in body if isinstance(node, ast.ClassDef) and node.name == part]
            if not inner and part not in _bound(body):
                raise AuthorFault(f"{name}: there is no class {part}")
            if not inner:
                return Spot(tuple(named), (), readable=False)
            named.append(inner[-1])
            body = inner[-1].body
        chains = [tuple(named), *((each,) for each in self.ancestors(named[-1]))] if named else [()]
        for chain in chains:
            body = chain[-1].body if chain else self._module.body
            functions = [node for node in body if isinstance(node, Function) and node.name == path[-1]]
            if functions:
                return Spot(tuple(named), (*chain, functions[-1]), readable=self._is_readable({*named, *chain}))
            if path[-1] in _bound(body):
                return Spot(tuple(named), (), readable=False)
        if named and self.inherits_unseen(named[-1]):
            return Spot(tuple(named), (), readable=False)
        raise AuthorFault(f"{name}: there is no test {path[-1]}")

    def alone(self, spot: Spot) -> Alone:
        """The module with this test and no other."""
        function = copy.deepcopy(spot.function)
        if function is not None:
            _without_text(function)
        swaps = {} if function is None else {id(spot.function): function}
        shells = frozenset(map(id, spot.named))
        own = {id(part) for part in (*spot.named[:1], *spot.chain[:1])}
        parts: list[tuple[ast.stmt, bool]] = []
        for node, bare in zip(self._module.body, self._bare, strict=True):
            left = self._stripped(node, swaps, shells) if id(node) in own else bare
            if left is not None:
                parts.append((left, id(node) in own))
        return Alone(self, function, parts)

    def text_of(self, node: ast.stmt) -> str:
        """The text of a statement that all tests share."""
        if id(node) not in self._texts:
            self._texts[id(node)] = ast.unparse(node)
        return self._texts[id(node)]

    def uses_of(self, node: ast.stmt) -> frozenset[str]:
        """The names that such a statement refers to."""
        if id(node) not in self._uses:
            self._uses[id(node)] = _used(node)
        return self._uses[id(node)]

    def _stripped(self, node: ast.stmt, swaps: Mapping[int, Function], shells: frozenset[int]) -> ast.stmt | None:
        """A statement without the tests in it that nothing refers to.

        Args:
            node: The statement.
            swaps: What stays, and in whose place, by identity.
            shells: Classes that stay, even with nothing in them.
        """
        if isinstance(node, ast.ClassDef):
            left = [inner for each in node.body if (inner := self._stripped(each, swaps, shells)) is not None]
            if not left and node.name not in self._used and id(node) not in shells:
                return None
            made = copy.copy(node)
            made.body = left or [ast.Pass()]
            return made
        if id(node) in swaps:
            return swaps[id(node)]
        spare = isinstance(node, Function) and node.name.startswith("test") and node.name not in self._used
        return None if spare else node

    def ancestors(self, of: ast.ClassDef) -> Iterator[ast.ClassDef]:
        """The classes of this module that a class inherits from, near ones first."""
        seen = [of]
        for each in seen:  # which grows on the way
            bases = {base.id for base in each.bases if isinstance(base, ast.Name)}
            seen += [
                node
                for node in self._module.body
                if isinstance(node, ast.ClassDef) and node.name in bases and node not in seen
            ]
        yield from seen[1:]

    def inherits_unseen(self, of: ast.ClassDef) -> bool:
        """Whether a class inherits from one that is not in this module, and so may have tests of it."""
        here = {node.name for node in self._module.body if isinstance(node, ast.ClassDef)}
        bases = [ast.unparse(base) for each in (of, *self.ancestors(of)) for base in each.bases]
        return any(base not in here and base.rpartition(".")[2] not in WITHOUT_TESTS for base in bases)

    def _is_readable(self, classes: set[ast.ClassDef]) -> bool:
        marks = [mark for node in classes for mark in node.decorator_list]
        for body in (self._module.body, *(node.body for node in classes)):
            marks += [value for name, value in _assigned(body) if name == "pytestmark"]
        return all(map(_gives_nothing, marks))


class Alone:
    """A module with one test: its function may be changed before the text is taken.

    Attributes:
        function: The test; None when the module only makes it when it runs.
    """

    def __init__(self, source: Source, function: Function | None, parts: list[tuple[ast.stmt, bool]]) -> None:
        self.function = function
        self._source = source
        self._parts = parts

    def leave_out(self, constants: set[str]) -> set[str]:
        """Remove constants that nothing refers to any more; returns those that something does."""
        if not constants:
            return set()
        used = {name for node, own in self._parts for name in (_used(node) if own else self._source.uses_of(node))}
        unused = constants - used
        self._parts = [part for part in self._parts if not unused & {name for name, _ in _assigned([part[0]])}]
        return constants & used

    def text(self) -> str:
        """Its source."""
        parts = [ast.unparse(node) if own else self._source.text_of(node) for node, own in self._parts]
        return "\n".join(parts)


@functools.lru_cache(maxsize=32)
def source_of(data: bytes, file: str) -> Source:
    """A module, parsed once for all of its tests. Raises `AuthorFault` when it is no Python."""
    return Source(data, file)


def _is_too_long(node: ast.AST) -> bool:
    """Whether it is a number that Python does not write out."""
    return isinstance(node, ast.Constant) and type(node.value) is int and abs(node.value) >= LONGEST


def _has_tests(node: ast.AST) -> TypeGuard[ast.ClassDef]:
    return isinstance(node, ast.ClassDef) and any(
        isinstance(each, Function) and each.name.startswith("test") for each in node.body
    )


def _without_text(node: ast.Module | ast.ClassDef | Function) -> None:
    if ast.get_docstring(node) is not None:
        node.body = node.body[1:] or [ast.Pass()]


def _assigned(body: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
            case _:
                pass


def _gives_nothing(mark: ast.expr) -> bool:
    """Whether a mark gives tests no parameters: a plain mark, or a list of them."""
    marks = mark.elts if isinstance(mark, ast.List | ast.Tuple) else [mark]
    texts = [ast.unparse(each) for each in marks]
    return all(
        text.startswith(("pytest.mark.", "mark.")) and "parametrize" not in text and "usefixtures" not in text
        for text in texts
    )


def _bound(body: Sequence[ast.stmt]) -> set[str]:
    """Names that a module or a class binds in any way, also under a condition."""
    names: set[str] = set()
    nodes: list[ast.AST] = list(body)
    while nodes:
        match nodes.pop():
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.alias(name=name, asname=asname):
                names.add(asname or name.partition(".")[0])
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case other:
                nodes += ast.iter_child_nodes(other)
    return names


def _used(node: ast.AST) -> frozenset[str]:
    nodes = list(ast.walk(node))
    names = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return frozenset(names | {node.attr for node in nodes if isinstance(node, ast.Attribute)})
